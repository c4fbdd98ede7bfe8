package dev.warmpath.worker.kvcache;

import static dev.warmpath.worker.kvcache.BlockPool.NO_BLOCK;
import static dev.warmpath.worker.kvcache.BlockPool.NULL_BLOCK;

import java.util.Arrays;

/**
 * Finds the longest prefix that every group can go on from.
 *
 * <p>Full attention needs all of it, so it is looked up from the left and ends at the first miss. A window of W needs
 * only the W - 1 positions before the first one to compute: it is looked up from the right, and the first run of enough
 * blocks wins; or a shorter one if it reaches the very first block. Each group may shorten what the one before found,
 * until all agree. The rules are those of vLLM's coordinators.
 */
final class PrefixMatcher {

    private final BlockPool pool;
    /** [groups]; blocks in a row that the window of a group needs, or {@link #ALL}. */
    private final int[] runs;
    private static final int ALL = -1;

    PrefixMatcher(KvCacheSettings settings, BlockPool pool) {
        this.pool = pool;
        runs = settings.groups().stream().mapToInt(group -> switch (group) {
            case CacheGroup.FullAttention() -> ALL;
            case CacheGroup.SlidingWindow(int window) -> Math.ceilDiv(window - 1, settings.blockSize());
        }).toArray();
    }

    /** @param hit begun for the sequence; gets the blocks */
    void match(TokenSequence sequence, PrefixHit hit) {
        sequence.hash();
        int length = sequence.reusableBlocks();
        boolean shorter = true;
        for (int group = 0; group < runs.length && (group == 0 || length > 0); group++) {
            length = matchGroup(sequence, hit, group, length);
        }
        // with one group, or full attention and one window, what was found last suits all
        int windows = runs.length - (runs[0] == ALL ? 1 : 0);
        while (windows > 1 && shorter && length > 0) {
            int before = length;
            for (int group = 0; group < runs.length && length > 0; group++) {
                length = runs[group] == ALL ? length : matchGroup(sequence, hit, group, length);
            }
            shorter = length < before;
        }
        hit.setBlockCount(length);
    }

    private int matchGroup(TokenSequence sequence, PrefixHit hit, int group, int limit) {
        int[] row = hit.row(group, limit);
        return runs[group] == ALL
                ? matchAll(sequence, row, group, limit)
                : matchRun(sequence, row, group, limit, runs[group]);
    }

    private int matchAll(TokenSequence sequence, int[] row, int group, int limit) {
        for (int index = 0; index < limit; index++) {
            int block = pool.find(sequence.chain(), index, sequence.tokens(), group);
            if (block == NO_BLOCK) {
                return index;
            }
            row[index] = block;
        }
        return limit;
    }

    private int matchRun(TokenSequence sequence, int[] row, int group, int limit, int run) {
        int end = limit;
        int index = limit;
        while (index > 0 && end - index < run) {
            index--;
            row[index] = pool.find(sequence.chain(), index, sequence.tokens(), group);
            if (row[index] == NO_BLOCK) {
                end = index;
            }
        }
        Arrays.fill(row, 0, index, NULL_BLOCK);
        return end;
    }
}
