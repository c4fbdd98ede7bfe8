package dev.warmpath.planner.analysis;

import dev.warmpath.capacity.KindOfLoad;
import dev.warmpath.planner.output.Figures;
import dev.warmpath.planner.output.Provenance;
import dev.warmpath.planner.output.TextTable;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * What came of an analysis, as {@code --json} has it.
 *
 * @param spanSeconds      from the first request to the last
 * @param sharedTokens     leading tokens that a request has in common with one before it, in whole blocks
 * @param sharedNone       share of requests that have none in common
 * @param shorterThanBlock requests whose prompt fills no block: nothing of them can be reused
 * @param mostShared       beginnings that save most
 * @param hitRateBySize    share of full blocks that one cache of such a size finds, which keeps what was used last
 * @param sampledOneIn     sizes and different blocks are counted on one block in so many; 1: on all
 * @param exact            whether found blocks are counted without error; false: by a filter that errs a little upwards
 * @param workingSet       the smallest cache that finds 95 % of what an endless one does
 * @param cacheBudget      the same with a fifth more
 * @param reuseGapP50Seconds between uses of a block; null if none is used twice
 * @param windowRequests   of each window
 * @param windowHitRates   of an endless cache, window by window
 * @param causes           why few blocks are found, in sentences
 */
public record AnalysisView(String version, String commit, long seed, List<Provenance.Input> inputs,
        boolean interrupted, String name, long requests, double spanSeconds, int blockTokens, long promptTokens,
        Lengths promptLength, Lengths answerLength, Blocks blocks, Lengths sharedTokens, double sharedNone,
        long shorterThanBlock, List<Shared> mostShared, List<Size> hitRateBySize, long sampledOneIn, boolean exact,
        Budget workingSet, Budget cacheBudget, @Nullable Double reuseGapP50Seconds, @Nullable Double reuseGapP90Seconds,
        long windowRequests, List<Double> windowHitRates, List<String> causes) {

    private static final String LEVELS = "▁▂▃▄▅▆▇█";

    /** In tokens. */
    public record Lengths(double mean, long p10, long p25, long p50, long p75, long p90, long p99, long max) {}

    /**
     * @param total        full blocks of all prompts
     * @param unique       different ones
     * @param reusable     the others: uses of a block that had been used before
     * @param matchable    that can be found at all: at least a token of each prompt is computed
     * @param found        by an endless cache
     * @param hitRate      the same as a share of all
     * @param savedTokens  of prompts that it would not compute
     * @param savedShare   of all tokens of prompts
     */
    public record Blocks(long total, long unique, long reusable, long matchable, long found, double hitRate,
            long savedTokens, double savedShare) {}

    /** A beginning that requests have in common. @param share of all requests */
    public record Shared(long tokens, long requests, double share) {}

    /** Of a cache. */
    public record Size(long blocks, long tokens, double hitRate) {}

    /** Of a cache. @param bytes null if nobody said how many a token takes */
    public record Budget(long blocks, long tokens, @Nullable Long bytes) {

        private String text() {
            return Figures.count(blocks) + " blocks, " + Figures.count(tokens) + " tokens" + (bytes == null ? ""
                    : String.format(Locale.ROOT, ", %.2f GiB", bytes / (double) (1 << 30)));
        }
    }

    /** For a terminal. */
    public String text() {
        var text = new StringBuilder();
        line(text, name, "%s requests in %.0f s, %.2f per second".formatted(Figures.count(requests), spanSeconds,
                requests / Math.max(spanSeconds, 1e-3)));
        line(text, "prompts", tokens(promptLength) + "; " + Figures.count(promptTokens) + " in all");
        line(text, "answers", tokens(answerLength));
        line(text, "blocks", "of %d tokens: %s, %s different, %s reusable".formatted(blockTokens,
                Figures.count(blocks.total), Figures.count(blocks.unique), Figures.count(blocks.reusable)));
        line(text, "could be found", ("%s of the blocks with an endless cache: %s of all prompt tokens need not be"
                + " computed").formatted(Figures.percent(blocks.hitRate), Figures.percent(blocks.savedShare)));
        line(text, "like", KindOfLoad.describe(blocks.hitRate));
        line(text, "in common", tokens(sharedTokens) + "; " + Figures.percent(sharedNone)
                + " of requests have nothing");
        line(text, "working set", workingSet.text() + ": 95 % of what an endless cache finds");
        line(text, "cache budget", cacheBudget.text() + ": the working set and a fifth");
        if (reuseGapP50Seconds != null) {
            line(text, "used again", "after %s in the median, %s in nine of ten".formatted(
                    Figures.time(reuseGapP50Seconds * 1e3), Figures.time(1e3 * (reuseGapP90Seconds == null ? 0
                            : reuseGapP90Seconds))));
        }
        line(text, "over time", spark() + "  hit rate of an endless cache, each mark " + Figures.count(windowRequests)
                + " requests");
        text.append("\nhit rate by the size of one cache for all, which keeps what was used last\n").append(sizes());
        if (!mostShared.isEmpty()) {
            text.append("\nbeginnings that save most\n").append(shared());
        }
        causes.forEach(cause -> text.append("\nwhy not more: ").append(cause).append('\n'));
        text.append('\n').append(notes()).append(new Provenance(version, commit, seed, inputs).line()).append('\n');
        return text.toString();
    }

    private static void line(StringBuilder text, String name, String sentence) {
        text.append(String.format(Locale.ROOT, "%-15s %s%n", name, sentence));
    }

    private static String tokens(Lengths lengths) {
        return String.format(Locale.ROOT, "%,.0f tokens on average; p10 %,d, p50 %,d, p90 %,d, p99 %,d, at most %,d",
                lengths.mean, lengths.p10, lengths.p50, lengths.p90, lengths.p99, lengths.max);
    }

    private String spark() {
        var spark = new StringBuilder();
        windowHitRates.forEach(rate -> spark.append(LEVELS.charAt((int) Math.min(LEVELS.length() - 1L,
                (long) (rate * LEVELS.length())))));
        return spark.toString();
    }

    private TextTable sizes() {
        var table = new TextTable(0, "blocks", "tokens", "hit rate");
        hitRateBySize.forEach(size -> table.add(List.of(Figures.count(size.blocks), Figures.count(size.tokens),
                Figures.percent(size.hitRate))));
        return table;
    }

    private TextTable shared() {
        var table = new TextTable(0, "tokens", "requests", "of all");
        mostShared.forEach(each -> table.add(List.of(Figures.count(each.tokens), Figures.count(each.requests),
                Figures.percent(each.share))));
        return table;
    }

    private String notes() {
        return (shorterThanBlock == 0 ? "" : Figures.count(shorterThanBlock) + " prompts fill no block\n")
                + (sampledOneIn == 1 ? "" : "sizes, different and reusable blocks are estimated on one block in "
                        + sampledOneIn + "\n")
                + (exact ? "" : "found blocks are counted by a filter, which errs a little upwards\n")
                + (interrupted ? "interrupted: this is the file's begin\n" : "");
    }
}
