package dev.warmpath.worker.kvcache;

import static dev.warmpath.worker.kvcache.BlockPool.NULL_BLOCK;

import dev.warmpath.protocol.block.BlockHashChain;
import java.util.Arrays;

/**
 * What happens to a sequence's tables, in all groups at once: blocks held, taken, shared, copied, keyed, let go. Decides
 * nothing; whoever asks has made sure that there are enough blocks.
 */
final class GroupTables {

    private final CacheGroup[] groups;
    /** [groups]; tokens in a block. */
    private final int[] blockSizes;
    private final boolean windowed;
    private final BlockPool pool;
    private final BlockCopies copies;

    GroupTables(KvCacheSettings settings, BlockPool pool, BlockCopies copies) {
        this.groups = settings.groups().toArray(CacheGroup[]::new);
        this.blockSizes = new int[groups.length];
        Arrays.setAll(blockSizes, settings::blockSize);
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

    int blockSize(int group) {
        return blockSizes[group];
    }

    /** Blocks of a group for so many tokens. */
    int blocksFor(int group, int tokenCount) {
        return Math.ceilDiv(tokenCount, blockSizes[group]);
    }

    /** Leading blocks of a group that no token sees which follows the first so many. */
    int unseenBlocks(int group, int tokenCount) {
        return windowed ? groups[group].unseenTokens(tokenCount) / blockSizes[group] : 0;
    }

    /** True if every group still has what a token after the first so many sees. */
    boolean covers(TokenSequence sequence, int tokenCount) {
        for (int group = 0; group < groups.length; group++) {
            int first = unseenBlocks(group, tokenCount);
            if (first < blocksFor(group, tokenCount) && sequence.table(group).block(first) == NULL_BLOCK) {
                return false;
            }
        }
        return true;
    }

    /** True if no step in flight is still to compute what was hit. */
    boolean isSettled(PrefixHit hit) {
        for (int group = 0; group < groups.length; group++) {
            for (int index = 0; index < hit.blockCount(group); index++) {
                if (hit.block(group, index) != NULL_BLOCK && !pool.isSettled(hit.block(group, index))) {
                    return false;
                }
            }
        }
        return true;
    }

    /** Begins the tables with a hit, as far as a token after the first so many sees it. */
    void hold(TokenSequence sequence, PrefixHit hit, int tokenCount) {
        sequence.holding().useGroups(blockSizes);
        for (int group = 0; group < groups.length; group++) {
            hold(sequence.table(group), hit.blocks(group), unseenBlocks(group, tokenCount), hit.blockCount(group));
        }
    }

    /** Begins a child's tables with its parent's blocks, as far as a token after the first so many sees them. */
    void share(TokenSequence parent, TokenSequence child, int tokenCount) {
        child.holding().useGroups(blockSizes);
        for (int group = 0; group < groups.length; group++) {
            hold(child.table(group), parent.table(group).blocks(), unseenBlocks(group, tokenCount),
                    blocksFor(group, tokenCount));
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

    /** Makes the tables hold so many tokens, and what follows the computed ones the sequence's own to write. */
    void grow(TokenSequence sequence, int tokenCount) {
        for (int group = 0; group < groups.length; group++) {
            BlockTable table = sequence.table(group);
            int written = sequence.computedTokens() / blockSizes[group];
            if (mustCopy(table, written)) {
                copyOnWrite(table, written);
            }
            pool.allocate(Math.max(blocksFor(group, tokenCount) - table.blockCount(), 0), table);
        }
    }

    /**
     * Keys the full blocks of so many tokens that are not yet; after an invalidation, who shares some may have come
     * first.
     */
    void key(TokenSequence sequence, int tokenCount) {
        BlockHolding holding = sequence.holding();
        for (int group = 0; group < groups.length; group++) {
            int first = holding.keyedTokens() / blockSizes[group];
            int full = tokenCount / blockSizes[group];
            if (first < full) {
                key(sequence, group, first, full);
            }
        }
        holding.key(tokenCount);
    }

    private void key(TokenSequence sequence, int group, int first, int full) {
        BlockTable table = sequence.table(group);
        BlockHashChain chain = sequence.chain(blockSizes[group]);
        int settled = sequence.holding().settledTokens() / blockSizes[group];
        for (int index = first; index < full; index++) {
            int block = table.block(index);
            if (block != NULL_BLOCK && !pool.isKeyed(block)) {
                pool.key(block, chain, index, sequence.tokens(), group);
                pool.setSettled(block, index < settled);
            }
        }
    }

    /** The keys of blocks that lie within the settled tokens from here on can be relied on. */
    void settle(TokenSequence sequence, int settledTokens) {
        BlockHolding holding = sequence.holding();
        int before = holding.settledTokens();
        holding.settle(settledTokens);
        int after = Math.min(settledTokens, holding.keyedTokens());
        for (int group = 0; group < groups.length; group++) {
            BlockTable table = holding.table(group);
            for (int index = before / blockSizes[group]; index < after / blockSizes[group]; index++) {
                pool.setSettled(table.block(index), true);
            }
        }
    }

    /** Takes the keys of the blocks away that do not lie within the settled tokens. */
    void unkey(TokenSequence sequence) {
        BlockHolding holding = sequence.holding();
        int left = Math.min(holding.settledTokens(), holding.keyedTokens());
        for (int group = 0; group < groups.length; group++) {
            int first = left / blockSizes[group];
            for (int index = holding.keyedTokens() / blockSizes[group] - 1; index >= first; index--) {
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
