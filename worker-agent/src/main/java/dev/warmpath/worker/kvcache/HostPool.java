package dev.warmpath.worker.kvcache;

import java.util.BitSet;

/**
 * The blocks of host memory to which a preempted sequence's blocks are swapped: ids 0 to {@code blockCount - 1}, a
 * stack of free ones. Nothing is shared and nothing is found by key.
 */
final class HostPool {

    /** [blockCount]; the first {@link #freeCount} are free, the last of them is taken next. */
    private final int[] stack;
    private final BitSet taken;
    private int freeCount;

    /** The lowest ids are taken first. */
    HostPool(int blockCount) {
        stack = new int[blockCount];
        taken = new BitSet(blockCount);
        for (int block = blockCount - 1; block >= 0; block--) {
            stack[freeCount++] = block;
        }
    }

    int blockCount() {
        return stack.length;
    }

    int freeCount() {
        return freeCount;
    }

    void copyUsed(BitSet target) {
        target.clear();
        target.or(taken);
    }

    /** Adds so many blocks to the table. @return false, and nothing changes, if fewer are free */
    boolean allocate(int count, BlockTable table) {
        if (count > freeCount) {
            return false;
        }
        for (int i = 0; i < count; i++) {
            int block = stack[--freeCount];
            taken.set(block);
            table.add(block);
        }
        return true;
    }

    /**
     * Gives every block of a table back and empties it; its first block is the next one taken.
     *
     * @throws IllegalStateException if one of them is not taken; nothing changes
     */
    void release(BlockTable table) {
        for (int i = 0; i < table.blockCount(); i++) {
            if (!taken.get(table.block(i))) {
                throw new IllegalStateException("host block " + table.block(i) + " of " + table + " is not taken");
            }
        }
        for (int i = table.blockCount() - 1; i >= 0; i--) {
            taken.clear(table.block(i));
            stack[freeCount++] = table.block(i);
        }
        table.clear();
    }
}
