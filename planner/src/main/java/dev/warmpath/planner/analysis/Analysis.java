package dev.warmpath.planner.analysis;

import dev.warmpath.capacity.CacheBudget;
import dev.warmpath.capacity.LowHitRate;
import dev.warmpath.capacity.LowHitRate.Facts;
import dev.warmpath.planner.output.Figures;
import dev.warmpath.planner.output.Provenance;
import dev.warmpath.planner.trace.Arrival;
import dev.warmpath.planner.trace.SeenKeys;
import dev.warmpath.workload.PooledCache;
import dev.warmpath.workload.Prompt;
import java.util.ArrayList;
import java.util.List;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * What a trace's prompts have in common, in one pass and in 250 MB at most, however long it is. One thread adds;
 * whoever asks for the result while it does so waits for its request.
 */
public final class Analysis {

    /** Of what an endless cache finds, by the cache that is taken for large enough. */
    private static final double WORKING_SET_SHARE = 0.95;
    private static final int TOP = 10;
    private static final int FIRST_SIZE = 64;
    private static final double[] SHARES = {0.1, 0.25, 0.5, 0.75, 0.9, 0.99};

    private final SeenKeys seen = new SeenKeys();
    private final ReuseDistances distances = new ReuseDistances();
    private final SharedPrefixes prefixes = new SharedPrefixes();
    private final Windows windows = new Windows();
    private final Histogram promptLengths = new Histogram(3);
    private final Histogram answerLengths = new Histogram(3);
    private final Histogram sharedLengths = new Histogram(3);
    private long requests;
    private long promptTokens;
    private long answerTokens;
    private long fullBlocks;
    private long matchableBlocks;
    private long foundBlocks;
    private long shorterThanBlock;
    private long sharedNone;
    private int blockTokens = 1;
    private long lastMicros;

    public synchronized void add(Arrival arrival) {
        Prompt prompt = arrival.turn().prompt();
        blockTokens = prompt.pieceTokens();
        int full = prompt.length() / blockTokens;
        int matchable = (prompt.length() - 1) / blockTokens;
        long[] keys = PooledCache.promptKeys(prompt);
        int found = 0;
        while (found < matchable && seen.contains(keys[found])) {
            found++;
        }
        for (long key : keys) {
            seen.add(key);
        }
        prefixes.add(keys, found);
        distances.use(keys, matchable, arrival.micros());
        windows.add(found, full);
        promptLengths.recordValue(prompt.length());
        answerLengths.recordValue(arrival.turn().answerTokens());
        sharedLengths.recordValue((long) found * blockTokens);
        requests++;
        promptTokens += prompt.length();
        answerTokens += arrival.turn().answerTokens();
        fullBlocks += full;
        matchableBlocks += matchable;
        foundBlocks += found;
        shorterThanBlock += full == 0 ? 1 : 0;
        sharedNone += found == 0 ? 1 : 0;
        lastMicros = arrival.micros();
    }

    /**
     * All that is known so far.
     *
     * @param bytesPerToken of a token's keys and values in a cache; null: sizes in bytes are left out
     * @param cacheTokens   of all workers' caches together; null: nothing is said of these
     */
    public synchronized AnalysisView result(Provenance provenance, String name, boolean interrupted,
            @Nullable Long bytesPerToken, @Nullable Long cacheTokens) {
        long workingSet = distances.capacityFor(WORKING_SET_SHARE);
        long budget = CacheBudget.withHeadroom(workingSet);
        return new AnalysisView(provenance.version(), provenance.commit(), provenance.seed(), provenance.inputs(),
                interrupted, name, requests, lastMicros / 1e6, blockTokens, promptTokens, lengths(promptLengths),
                lengths(answerLengths), blocks(), lengths(sharedLengths), (double) sharedNone / Math.max(1, requests),
                shorterThanBlock, mostShared(), curve(workingSet), distances.sampledOneIn(), seen.isExact(),
                size(workingSet, bytesPerToken), size(budget, bytesPerToken), Figures.orNull(distances.gapSeconds(0.5)),
                Figures.orNull(distances.gapSeconds(0.9)), windows.requests(), windows.shares(),
                causes(workingSet, cacheTokens));
    }

    private List<String> causes(long workingSet, @Nullable Long cacheTokens) {
        Facts facts = Facts.of(blockTokens).withPrompts(/* its blocks are whole */ 0,
                requests == 0 ? blockTokens + 1 : promptLengths.getValueAtPercentile(50));
        if (cacheTokens != null) {
            long blocks = cacheTokens / blockTokens;
            facts = facts.withCache(blocks, workingSet, distances.medianDistance())
                    .withRates(share(distances.hits(blocks)), share(foundBlocks));
        } else {
            facts = facts.withRates(share(foundBlocks), share(foundBlocks));
        }
        return LowHitRate.causes(facts);
    }

    private AnalysisView.Blocks blocks() {
        double again = fullBlocks - Math.min(fullBlocks, distances.distinct());
        return new AnalysisView.Blocks(fullBlocks, Math.round(distances.distinct()), Math.round(again), matchableBlocks,
                foundBlocks, share(foundBlocks), foundBlocks * blockTokens,
                (double) foundBlocks * blockTokens / Math.max(1, promptTokens));
    }

    private double share(double blocks) {
        return fullBlocks == 0 ? 0 : blocks / fullBlocks;
    }

    private static AnalysisView.Lengths lengths(Histogram lengths) {
        List<Long> quantiles = new ArrayList<>();
        for (double share : SHARES) {
            quantiles.add(lengths.getTotalCount() == 0 ? 0 : lengths.getValueAtPercentile(100 * share));
        }
        return new AnalysisView.Lengths(lengths.getTotalCount() == 0 ? 0 : lengths.getMean(), quantiles.get(0),
                quantiles.get(1), quantiles.get(2), quantiles.get(3), quantiles.get(4), quantiles.get(5),
                lengths.getTotalCount() == 0 ? 0 : lengths.getMaxValue());
    }

    private List<AnalysisView.Shared> mostShared() {
        return prefixes.most(TOP).stream().map(shared -> new AnalysisView.Shared((long) shared.blocks() * blockTokens,
                shared.requests(), (double) shared.requests() / requests)).toList();
    }

    /** Sizes that double, up to the first that finds all there is. */
    private List<AnalysisView.Size> curve(long workingSet) {
        List<AnalysisView.Size> curve = new ArrayList<>();
        double all = distances.hits(Double.POSITIVE_INFINITY);
        for (long size = FIRST_SIZE; all > 0; size *= 2) {
            double hits = distances.hits(size);
            curve.add(new AnalysisView.Size(size, size * blockTokens, share(hits)));
            if (workingSet > size && workingSet < size * 2) {
                curve.add(new AnalysisView.Size(workingSet, workingSet * blockTokens,
                        share(distances.hits(workingSet))));
            }
            if (hits >= all) {
                break;
            }
        }
        return curve;
    }

    private AnalysisView.Budget size(long blocks, @Nullable Long bytesPerToken) {
        long tokens = blocks * blockTokens;
        return new AnalysisView.Budget(blocks, tokens, bytesPerToken == null ? null : tokens * bytesPerToken);
    }
}
