package dev.warmpath.worker.kvcache;

import static dev.warmpath.worker.kvcache.BlockPool.NULL_BLOCK;

import java.util.List;

/**
 * Computed blocks of preempted sequences, in host memory until they are admitted again. Only notes the copies; since
 * those are done in order, a host block is free again as soon as its way back is noted.
 */
final class SwapSpace {

    private final int blockSize;
    private final List<CacheGroup> groups;
    private final HostPool host;
    private final BlockCopies copies;
    private long blocksOut;
    private long blocksIn;

    SwapSpace(KvCacheSettings settings, BlockCopies copies) {
        this.blockSize = settings.blockSize();
        this.groups = settings.groups();
        this.host = new HostPool(settings.hostBlockCount());
        this.copies = copies;
    }

    int freeCount() {
        return host.freeCount();
    }

    long blocksOut() {
        return blocksOut;
    }

    long blocksIn() {
        return blocksIn;
    }

    /**
     * Copies the blocks of a sequence's first tokens, a partly filled last one included, as far as a later token sees
     * them.
     *
     * @return false, and nothing changes, if there is no room
     */
    boolean save(TokenSequence sequence, int tokenCount) {
        int end = Math.ceilDiv(tokenCount, blockSize);
        int wanted = 0;
        for (int group = 0; group < groups.size(); group++) {
            wanted += end - firstSeen(group, tokenCount);
        }
        if (wanted == 0 || wanted > host.freeCount()) {
            return false;
        }
        if (sequence.swapped.length == 0) {
            sequence.swapped = sequence.newTables(groups.size());
        }
        for (int group = 0; group < groups.size(); group++) {
            int first = firstSeen(group, tokenCount);
            BlockTable saved = sequence.swapped[group];
            host.allocate(end - first, saved);
            for (int index = first; index < end; index++) {
                copies.add(BlockCopies.Direction.TO_HOST, sequence.table(group).block(index),
                        saved.block(index - first));
            }
        }
        sequence.swappedTokens = tokenCount;
        blocksOut += wanted;
        return true;
    }

    /** Copies back what a sequence's tables do not have from elsewhere, and forgets the rest. */
    void restore(TokenSequence sequence, int fromBlock) {
        if (sequence.swappedTokens == 0) {
            return;
        }
        int end = Math.ceilDiv(sequence.swappedTokens, blockSize);
        for (int group = 0; group < groups.size(); group++) {
            int first = firstSeen(group, sequence.swappedTokens);
            BlockTable saved = sequence.swapped[group];
            for (int index = Math.max(first, fromBlock); index < end; index++) {
                int block = sequence.table(group).block(index);
                if (block != NULL_BLOCK) {
                    copies.add(BlockCopies.Direction.TO_DEVICE, saved.block(index - first), block);
                    blocksIn++;
                }
            }
        }
        drop(sequence);
    }

    void drop(TokenSequence sequence) {
        if (sequence.swappedTokens > 0) {
            for (BlockTable saved : sequence.swapped) {
                host.release(saved);
            }
            sequence.swappedTokens = 0;
        }
    }

    private int firstSeen(int group, int tokenCount) {
        return groups.get(group).unseenTokens(tokenCount) / blockSize;
    }
}
