package dev.warmpath.worker.kvcache;

import static dev.warmpath.worker.kvcache.BlockPool.NULL_BLOCK;

import java.util.ArrayList;
import java.util.BitSet;

/**
 * Computed blocks of preempted sequences, in host memory until they are admitted again. Only notes the copies; since
 * those are done in order, a host block is free again as soon as its way back is noted.
 */
final class SwapSpace {

    private final GroupTables tables;
    private final HostPool host;
    private final BlockCopies copies;
    /** Whose blocks are here. */
    private final ArrayList<TokenSequence> owners = new ArrayList<>();
    private long blocksOut;
    private long blocksIn;

    SwapSpace(KvCacheSettings settings, GroupTables tables, BlockCopies copies) {
        this.tables = tables;
        this.host = new HostPool(settings.hostBlockCount());
        this.copies = copies;
    }

    int freeCount() {
        return host.freeCount();
    }

    /** Makes a set of the host blocks that are in use. */
    void copyUsed(BitSet target) {
        host.copyUsed(target);
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
        int wanted = 0;
        for (int group = 0; group < tables.groupCount(); group++) {
            wanted += tables.blocksFor(group, tokenCount) - tables.unseenBlocks(group, tokenCount);
        }
        if (wanted == 0 || wanted > host.freeCount()) {
            return false;
        }
        BlockHolding holding = sequence.holding();
        holding.swapOut(tokenCount);
        owners.add(sequence);
        for (int group = 0; group < tables.groupCount(); group++) {
            int first = tables.unseenBlocks(group, tokenCount);
            int end = tables.blocksFor(group, tokenCount);
            BlockTable saved = holding.swapped(group);
            host.allocate(end - first, saved);
            for (int index = first; index < end; index++) {
                copies.add(BlockCopies.Direction.TO_HOST, sequence.table(group).block(index),
                        saved.block(index - first));
            }
        }
        blocksOut += wanted;
        return true;
    }

    /** Copies back what a sequence's tables do not have from a hit, and forgets the rest. */
    void restore(TokenSequence sequence, PrefixHit hit) {
        BlockHolding holding = sequence.holding();
        if (holding.swappedTokens() == 0) {
            return;
        }
        for (int group = 0; group < tables.groupCount(); group++) {
            int first = tables.unseenBlocks(group, holding.swappedTokens());
            int end = tables.blocksFor(group, holding.swappedTokens());
            BlockTable saved = holding.swapped(group);
            for (int index = Math.max(first, hit.blockCount(group)); index < end; index++) {
                int block = sequence.table(group).block(index);
                if (block != NULL_BLOCK) {
                    copies.add(BlockCopies.Direction.TO_DEVICE, saved.block(index - first), block);
                    blocksIn++;
                }
            }
        }
        drop(sequence);
    }

    /** Forgets what is here of a sequence, if anything is. */
    void drop(TokenSequence sequence) {
        if (sequence.holding().swappedTokens() > 0) {
            owners.remove(sequence);
            free(sequence);
        }
    }

    /** Whose blocks are here. */
    Iterable<TokenSequence> owners() {
        return owners;
    }

    /** Forgets everything. */
    void clear() {
        owners.forEach(this::free);
        owners.clear();
    }

    private void free(TokenSequence sequence) {
        for (int group = 0; group < tables.groupCount(); group++) {
            host.release(sequence.holding().swapped(group));
        }
        sequence.holding().dropSwapped();
    }
}
