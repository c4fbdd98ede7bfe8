package dev.warmpath.worker.kvcache;

import static dev.warmpath.worker.kvcache.BlockPool.NO_BLOCK;
import static dev.warmpath.worker.kvcache.BlockPool.NULL_BLOCK;

import dev.warmpath.protocol.block.BlockHashChain;
import java.util.Arrays;

/**
 * Finds the longest prefix that every group can go on from. It ends where blocks of all groups end.
 *
 * <p>Full attention needs all of it, so it is looked up from the left and ends at the first miss. A window of W needs
 * only the W - 1 positions before the first one to compute: it is looked up from the right, and the first run of enough
 * blocks wins; or a shorter one if it reaches the very first block. Each group may shorten what the one before found,
 * until all agree. The rules are those of vLLM's coordinators.
 */
final class PrefixMatcher {

    private static final int ALL = -1;

    private final BlockPool pool;
    /** [groups]; tokens in a block. */
    private final int[] blockSizes;
    /** [groups]; blocks in a row that the window of a group needs, or {@link #ALL}. */
    private final int[] runs;
    private final int alignment;

    PrefixMatcher(KvCacheSettings settings, BlockPool pool) {
        this.pool = pool;
        alignment = settings.alignment();
        blockSizes = new int[settings.groups().size()];
        Arrays.setAll(blockSizes, settings::blockSize);
        runs = new int[blockSizes.length];
        Arrays.setAll(runs, group -> switch (settings.groups().get(group)) {
            case CacheGroup.FullAttention() -> ALL;
            case CacheGroup.SlidingWindow(int window, _) -> Math.ceilDiv(window - 1, blockSizes[group]);
        });
    }

    /** @param hit begun for the sequence; gets the blocks. At least one token of the sequence is left to compute,
     *            and all that it may not read */
    void match(TokenSequence sequence, PrefixHit hit) {
        int length = aligned(Math.min(sequence.tokenCount() - 1, sequence.cacheReadLimit()));
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
        hit.setTokenCount(length);
    }

    /** @param limit tokens, aligned @return tokens, aligned */
    private int matchGroup(TokenSequence sequence, PrefixHit hit, int group, int limit) {
        int size = blockSizes[group];
        BlockHashChain chain = sequence.chain(size);
        int[] row = hit.row(group, limit / size);
        return runs[group] == ALL
                ? aligned(size * matchAll(chain, sequence.tokens(), row, group, limit / size))
                : size * matchRun(chain, sequence.tokens(), row, group, limit / size);
    }

    private int matchAll(BlockHashChain chain, int[] tokens, int[] row, int group, int limit) {
        for (int index = 0; index < limit; index++) {
            int block = pool.find(chain, index, tokens, group);
            if (block == NO_BLOCK) {
                return index;
            }
            row[index] = block;
        }
        return limit;
    }

    private int matchRun(BlockHashChain chain, int[] tokens, int[] row, int group, int limit) {
        int end = limit;
        int index = limit;
        while (index > 0 && end - index < runs[group]) {
            index--;
            row[index] = pool.find(chain, index, tokens, group);
            if (row[index] == NO_BLOCK) {
                end = aligned(index * blockSizes[group]) / blockSizes[group];
                index = Math.min(index, end);
            }
        }
        Arrays.fill(row, 0, index, NULL_BLOCK);
        return end;
    }

    private int aligned(int tokenCount) {
        return tokenCount - tokenCount % alignment;
    }
}
