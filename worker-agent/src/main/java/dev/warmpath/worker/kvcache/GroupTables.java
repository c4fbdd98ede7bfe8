package dev.warmpath.worker.kvcache;

import static dev.warmpath.worker.kvcache.BlockPool.NULL_BLOCK;

import java.util.Arrays;

/**
 * What happens to a sequence's tables, in all groups at once: blocks held, taken, shared, copied, keyed, let go. Decides
 * nothing; whoever asks has made sure that there are enough blocks.
 */
final class GroupTables {

    private final int blockSize;
    private final CacheGroup[] groups;
    private final boolean windowed;
    private final BlockPool pool;
    private final BlockCopies copies;

    GroupTables(KvCacheSettings settings, BlockPool pool, BlockCopies copies) {
        this.blockSize = settings.blockSize();
        this.groups = settings.groups().toArray(CacheGroup[]::new);
        this.windowed = groups.length > 1 || !(groups[0] instanceof CacheGroup.FullAttention);
        this.pool = pool;
        this.copies = copies;
    }

    int groupCount() {
        return groups.length;
    }

    /** False if there is only full attention: then no entry is ever the null block. */
    boolean windowed() {
        return windowed;
    }

    CacheGroup group(int group) {
        return groups[group];
    }

    /** Leading blocks of a group that no token sees which follows the first so many. */
    int unseenBlocks(int group, int tokenCount) {
        return windowed ? groups[group].unseenTokens(tokenCount) / blockSize : 0;
    }

    /** True if every group still has what a token after the first so many sees. */
    boolean covers(TokenSequence sequence, int tokenCount) {
        for (int group = 0; group < groups.length; group++) {
            int first = unseenBlocks(group, tokenCount);
            if (first < Math.ceilDiv(tokenCount, blockSize) && sequence.table(group).block(first) == NULL_BLOCK) {
                return false;
            }
        }
        return true;
    }

    /** True if no step in flight is still to compute what was hit. */
    boolean isSettled(PrefixHit hit) {
        for (int group = 0; group < groups.length; group++) {
            for (int index = 0; index < hit.blockCount(); index++) {
                if (hit.block(group, index) != NULL_BLOCK && !pool.isSettled(hit.block(group, index))) {
                    return false;
                }
            }
        }
        return true;
    }

    /** Begins the tables with a hit, as far as a token after the first so many sees it. */
    void hold(TokenSequence sequence, PrefixHit hit, int tokenCount) {
        sequence.holding().useGroups(groups.length);
        for (int group = 0; group < groups.length; group++) {
            hold(sequence.table(group), hit.blocks(group), unseenBlocks(group, tokenCount), hit.blockCount());
        }
    }

    /** Begins a child's tables with its parent's blocks, as far as a token after the first so many sees them. */
    void share(TokenSequence parent, TokenSequence child, int tokenCount) {
        child.holding().useGroups(groups.length);
        int end = Math.ceilDiv(tokenCount, blockSize);
        for (int group = 0; group < groups.length; group++) {
            hold(child.table(group), parent.table(group).blocks(), unseenBlocks(group, tokenCount), end);
        }
    }

    /** True if a block may not be written in place: others hold it, or it can be hit. */
    boolean mustCopy(BlockTable table, int index) {
        if (index >= table.blockCount()) {
            return false;
        }
        int block = table.block(index);
        return pool.references(block) > 1 || pool.isKeyed(block);
    }

    /** Makes the tables so long, and what follows the computed tokens the sequence's own to write. */
    void grow(TokenSequence sequence, int blockCount) {
        int written = sequence.computedTokens() / blockSize;
        for (int group = 0; group < groups.length; group++) {
            BlockTable table = sequence.table(group);
            if (mustCopy(table, written)) {
                copyOnWrite(table, written);
            }
            pool.allocate(Math.max(blockCount - table.blockCount(), 0), table);
        }
    }

    /** Keys the blocks that are not yet, up to so many; after an invalidation, who shares some may have come first. */
    void key(TokenSequence sequence, int full) {
        sequence.hash();
        BlockHolding holding = sequence.holding();
        int settled = holding.settledTokens() / blockSize;
        for (int group = 0; group < groups.length; group++) {
            BlockTable table = holding.table(group);
            for (int index = holding.keyedBlocks(); index < full; index++) {
                int block = table.block(index);
                if (block != NULL_BLOCK && !pool.isKeyed(block)) {
                    pool.key(block, sequence.chain(), index, sequence.tokens(), group);
                    pool.setSettled(block, index < settled);
                }
            }
        }
        holding.key(full);
    }

    /** The keys of blocks that lie within the settled tokens from here on can be relied on. */
    void settle(TokenSequence sequence, int settledTokens) {
        BlockHolding holding = sequence.holding();
        int first = holding.settledTokens() / blockSize;
        holding.settle(settledTokens);
        int end = Math.min(settledTokens / blockSize, holding.keyedBlocks());
        for (int index = first; index < end; index++) {
            for (int group = 0; group < groups.length; group++) {
                pool.setSettled(holding.table(group).block(index), true);
            }
        }
    }

    /** Takes the keys of the blocks away that do not lie within the settled tokens. */
    void unkey(TokenSequence sequence) {
        BlockHolding holding = sequence.holding();
        int left = Math.min(holding.settledTokens() / blockSize, holding.keyedBlocks());
        for (int index = holding.keyedBlocks() - 1; index >= left; index--) {
            for (int group = 0; group < groups.length; group++) {
                pool.unkey(holding.table(group).block(index));
            }
        }
        holding.key(left);
    }

    /** Lets go of the blocks that no token sees which follows the settled ones. @return false if there are none */
    boolean releaseUnseen(TokenSequence sequence) {
        boolean released = false;
        for (int group = 0; group < groups.length; group++) {
            BlockTable table = sequence.table(group);
            int end = unseenBlocks(group, sequence.holding().settledTokens());
            int first = end;
            while (first > 0 && table.block(first - 1) != NULL_BLOCK) {
                first--;
            }
            if (first < end) {
                pool.release(table, first, end);
                Arrays.fill(table.blocks(), first, end, NULL_BLOCK);
                released = true;
            }
        }
        return released;
    }

    void release(TokenSequence sequence) {
        for (int group = 0; group < groups.length; group++) {
            pool.release(sequence.table(group));
        }
    }

    private void hold(BlockTable table, int[] blocks, int first, int end) {
        table.skipTo(first);
        for (int index = first; index < end; index++) {
            pool.touch(blocks[index]);
            table.add(blocks[index]);
        }
    }

    private void copyOnWrite(BlockTable table, int index) {
        int shared = table.block(index);
        int own = pool.allocate();
        copies.add(BlockCopies.Direction.WITHIN_DEVICE, shared, own);
        table.set(index, own);
        pool.release(shared);
    }
}
