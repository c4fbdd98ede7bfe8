package dev.warmpath.planner.analysis;

import dev.warmpath.planner.trace.TraceLines;
import dev.warmpath.planner.trace.TraceLines.Line;
import dev.warmpath.workload.PooledCache;
import dev.warmpath.workload.Prompt;
import dev.warmpath.workload.Turn;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.DoubleConsumer;

/**
 * A batch's prompts in an order in which those that begin alike run together, so that a small cache serves them: a
 * block is computed once for all that have it. Prompts are sorted by their pieces one after the other; which of two
 * different pieces comes first is told by which of them the file has first, so what came early stays early, and equal
 * prompts stay in their order.
 */
public final class BatchOrder {

    static final int MOST_PROMPTS = 2_000_000;
    private static final long MOST_BYTES = 1L << 30;

    private final List<Line> lines;
    private final List<Line> ordered;

    private BatchOrder(List<Line> lines, List<Line> ordered) {
        this.lines = lines;
        this.ordered = ordered;
    }

    /**
     * What an order computes with a cache of such a size.
     *
     * @param cacheBlocks of it; the whole blocks of a prompt that are not there are computed
     */
    public record Work(long cacheBlocks, long computedBlocks) {}

    /** @throws IOException if the file is no batch, or too large to be sorted: of 2 million prompts or 1 GiB */
    public static BatchOrder of(TraceLines file, DoubleConsumer progress) throws IOException {
        List<Line> lines = new ArrayList<>();
        long bytes = 0;
        for (Line line = file.next(); line != null; line = file.next()) {
            bytes += line.raw().length + (long) line.turn().prompt().pieces().length * Long.BYTES;
            if (lines.size() == MOST_PROMPTS || bytes > MOST_BYTES) {
                throw new IOException("line " + line.number() + ": the batch is too large to be sorted here, "
                        + MOST_PROMPTS + " prompts or 1 GiB; split it");
            }
            lines.add(line);
            progress.accept(file.share());
        }
        Map<Long, Integer> firsts = new HashMap<>();
        for (Line line : lines) {
            for (long piece : line.turn().prompt().pieces()) {
                firsts.putIfAbsent(piece, firsts.size());
            }
        }
        List<Line> ordered = new ArrayList<>(lines);
        ordered.sort(Comparator.comparing(line -> line.turn().prompt(), (one, other) -> compare(one, other, firsts)));
        return new BatchOrder(lines, ordered);
    }

    private static int compare(Prompt one, Prompt other, Map<Long, Integer> firsts) {
        int common = Math.min(one.pieces().length, other.pieces().length);
        for (int i = 0; i < common; i++) {
            if (one.pieces()[i] != other.pieces()[i]) {
                return Integer.compare(firsts.get(one.pieces()[i]), firsts.get(other.pieces()[i]));
            }
        }
        return Integer.compare(one.pieces().length, other.pieces().length);
    }

    public long prompts() {
        return lines.size();
    }

    /** Full blocks of all prompts. */
    public long fullBlocks() {
        return lines.stream().mapToLong(line -> line.turn().prompt().length() / line.turn().prompt().pieceTokens())
                .sum();
    }

    public int blockTokens() {
        return lines.getFirst().turn().prompt().pieceTokens();
    }

    /** Fewest blocks that each prompt fits into. */
    public long longestBlocks() {
        return lines.stream().mapToLong(line -> line.turn().prompt().pieces().length).max().orElse(1);
    }

    /** @param cacheBlocks at least 1 */
    public Work asItIs(long cacheBlocks) {
        return work(lines, cacheBlocks);
    }

    /** @param cacheBlocks at least 1 */
    public Work inOrder(long cacheBlocks) {
        return work(ordered, cacheBlocks);
    }

    /** One after the other: what runs side by side shares no less. */
    private static Work work(List<Line> lines, long cacheBlocks) {
        var cache = new PooledCache(cacheBlocks);
        long computed = 0;
        for (Line line : lines) {
            Prompt prompt = line.turn().prompt();
            computed += prompt.length() / prompt.pieceTokens() - cache.use(new Turn(prompt, 1)) / prompt.pieceTokens();
        }
        return new Work(cacheBlocks, computed);
    }

    /** The file's lines, byte for byte, in the new order. */
    public void write(OutputStream out) throws IOException {
        for (Line line : ordered) {
            out.write(line.raw());
            out.write('\n');
        }
    }
}
