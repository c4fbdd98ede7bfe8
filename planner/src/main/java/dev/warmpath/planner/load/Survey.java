package dev.warmpath.planner.load;

import dev.warmpath.workload.PooledCache;
import dev.warmpath.workload.Session;
import dev.warmpath.workload.Turn;
import java.io.IOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.function.DoubleConsumer;
import org.jspecify.annotations.Nullable;

/**
 * What is in a load, and what its blocks are, in order of use: for the best that any cache could do with it.
 *
 * @param requests     all turns of all sessions
 * @param promptTokens of all of them
 * @param fullBlocks   of all prompts
 * @param allBlocks    of all prompts and answers, each counted by itself
 * @param longestBlocks that one request fills, its answer among them
 * @param blockTokens  of a block
 * @param uses         null if there are more than 50 million, or of more than 10 million blocks: then nobody knows how
 *                     many different blocks there are, and what caches could do
 */
public record Survey(long requests, long promptTokens, long fullBlocks, long allBlocks, int longestBlocks,
        int blockTokens,
        @Nullable Uses uses) {

    /** Uses of blocks that are kept, at 8 bytes each while bounds are reckoned. */
    private static final int MOST_USES = 50_000_000;
    /** Different ones among them, at some 80 bytes. */
    private static final int MOST_DISTINCT = 10_000_000;

    /**
     * Blocks by number, as requests use them one after the other.
     *
     * @param blocks    numbers from 0, each request's in order
     * @param ends      where each request ends in these
     * @param matchable how many leading blocks of each could be found: at least one token is always computed
     * @param distinct  numbers that there are
     */
    public record Uses(int[] blocks, int[] ends, int[] matchable, int distinct) {}

    /**
     * Goes through the load once. Turns count in the order of their sessions, which is that of time where each request
     * is one of its own.
     *
     * @param progress is told how far it is, 0 to 1
     */
    public static Survey of(Load load, DoubleConsumer progress) throws IOException {
        var counting = new Counting();
        try (Load.Sessions sessions = load.open()) {
            while (sessions.hasNext()) {
                Session session = sessions.next();
                session.turns().forEach(counting::add);
                progress.accept(sessions.share());
            }
        }
        return counting.survey();
    }

    /** How many different blocks there are. @throws IllegalStateException if nobody knows */
    public int distinctBlocks() {
        if (uses == null) {
            throw new IllegalStateException("there are too many blocks to count");
        }
        return uses.distinct();
    }

    private static final class Counting {

        private long requests;
        private long promptTokens;
        private long fullBlocks;
        private long allBlocks;
        private int longestBlocks;
        private int blockTokens = 1;
        private @Nullable Map<Long, Integer> numbers = new HashMap<>();
        private int[] blocks = new int[1 << 12];
        private int[] ends = new int[1 << 10];
        private int[] matchable = new int[1 << 10];
        private int used;

        void add(Turn turn) {
            int length = turn.prompt().length();
            blockTokens = turn.prompt().pieceTokens();
            promptTokens += length;
            fullBlocks += length / blockTokens;
            int own = (int) Math.ceilDiv((long) length + turn.answerTokens(), blockTokens);
            allBlocks += own;
            longestBlocks = Math.max(longestBlocks, own);
            if (numbers != null) {
                use(PooledCache.keys(turn), (length - 1) / blockTokens);
            }
            requests++;
        }

        private void use(long[] keys, int mostFound) {
            if (used + keys.length > MOST_USES || numbers.size() > MOST_DISTINCT) {
                numbers = null;
                return;
            }
            int request = (int) requests;
            if (request == ends.length) {
                ends = Arrays.copyOf(ends, ends.length * 2);
                matchable = Arrays.copyOf(matchable, matchable.length * 2);
            }
            while (used + keys.length > blocks.length) {
                blocks = Arrays.copyOf(blocks, blocks.length * 2);
            }
            for (long key : keys) {
                Integer number = numbers.putIfAbsent(key, numbers.size());
                blocks[used++] = number == null ? numbers.size() - 1 : number;
            }
            ends[request] = used;
            matchable[request] = mostFound;
        }

        Survey survey() {
            return new Survey(requests, promptTokens, fullBlocks, allBlocks, longestBlocks, blockTokens, numbers == null
                    ? null : new Uses(Arrays.copyOf(blocks, used), Arrays.copyOf(ends, (int) requests),
                            Arrays.copyOf(matchable, (int) requests), numbers.size()));
        }
    }
}
