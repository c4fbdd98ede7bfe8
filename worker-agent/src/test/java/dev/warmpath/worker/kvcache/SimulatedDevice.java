package dev.warmpath.worker.kvcache;

import static dev.warmpath.worker.kvcache.BlockPool.NULL_BLOCK;

import java.util.Arrays;
import java.util.function.IntConsumer;

/**
 * Slots that hold simulated keys and values. The content of a slot is a number that stands for the group and all tokens
 * up to the position: two slots are equal just if they hold the same thing.
 */
final class SimulatedDevice {

    private static final long GARBAGE = -1;

    private final int blockSize;
    private final int groupCount;
    private final long[] slots;
    private final long[] host;

    SimulatedDevice(KvCacheSettings settings) {
        blockSize = settings.blockSize();
        groupCount = settings.groups().size();
        slots = new long[settings.blockCount() * blockSize];
        host = new long[settings.hostBlockCount() * blockSize];
    }

    /** What the slot of a position holds in a group. @param contents of the positions, the same for every group */
    static long content(long[] contents, int position, int group) {
        return ObviousCache.inGroup(contents[position], group);
    }

    /** Does the copies in order and clears them. @param copiedTo told every device block that was written */
    void copy(BlockCopies copies, IntConsumer copiedTo) {
        for (int i = 0; i < copies.size(); i++) {
            int source = copies.source(i) * blockSize;
            int target = copies.target(i) * blockSize;
            switch (copies.direction(i)) {
                case WITHIN_DEVICE -> System.arraycopy(slots, source, slots, target, blockSize);
                case TO_HOST -> System.arraycopy(slots, source, host, target, blockSize);
                case TO_DEVICE -> System.arraycopy(host, source, slots, target, blockSize);
            }
            if (copies.direction(i) != BlockCopies.Direction.TO_HOST) {
                copiedTo.accept(copies.target(i));
            }
        }
        copies.clear();
    }

    /** Computes positions. */
    void write(TokenSequence sequence, long[] contents, int from, int to) {
        for (int group = 0; group < groupCount; group++) {
            for (int position = from; position < to; position++) {
                put(sequence.table(group), position, content(contents, position, group));
            }
        }
    }

    /** Makes positions worthless: they are not computed yet, or their step failed. */
    void spoil(TokenSequence sequence, int from, int to) {
        for (int group = 0; group < groupCount; group++) {
            for (int position = from; position < to; position++) {
                put(sequence.table(group), position, GARBAGE);
            }
        }
    }

    void spoilBlock(int block) {
        Arrays.fill(slots, block * blockSize, (block + 1) * blockSize, GARBAGE);
    }

    /** Leading positions that are right in every group, where a position without a block is not asked for. */
    int rightPositions(TokenSequence sequence, long[] contents, int most) {
        int position = 0;
        while (position < most) {
            for (int group = 0; group < groupCount; group++) {
                if (!isRight(sequence, contents, group, position)) {
                    return position;
                }
            }
            position++;
        }
        return position;
    }

    /** True if all of a block of a sequence's table is right, or it has no block there. */
    boolean isRightBlock(TokenSequence sequence, long[] contents, int group, int index) {
        for (int position = index * blockSize; position < (index + 1) * blockSize; position++) {
            if (!isRight(sequence, contents, group, position)) {
                return false;
            }
        }
        return true;
    }

    private boolean isRight(TokenSequence sequence, long[] contents, int group, int position) {
        BlockTable table = sequence.table(group);
        return table.block(position / blockSize) == NULL_BLOCK
                || slots[table.slot(position)] == content(contents, position, group);
    }

    /** @throws AssertionError if a position has no block, or another content */
    void check(TokenSequence sequence, long[] contents, int group, int from, int to) {
        BlockTable table = sequence.table(group);
        for (int position = from; position < to; position++) {
            if (table.block(position / blockSize) == NULL_BLOCK
                    || slots[table.slot(position)] != content(contents, position, group)) {
                throw new AssertionError("position " + position + " of group " + group + " in table " + table
                        + ": other content than computed");
            }
        }
    }

    private void put(BlockTable table, int position, long content) {
        if (table.block(position / blockSize) != NULL_BLOCK) {
            slots[table.slot(position)] = content;
        }
    }
}
