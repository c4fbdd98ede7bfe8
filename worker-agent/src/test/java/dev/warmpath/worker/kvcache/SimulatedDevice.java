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

    private final KvCacheSettings settings;
    /** Places of a block, as many as the largest has. */
    private final int stride;
    private final int groupCount;
    private final long[] slots;
    private final long[] host;

    SimulatedDevice(KvCacheSettings settings) {
        this.settings = settings;
        stride = settings.largestBlockSize();
        groupCount = settings.groups().size();
        slots = new long[settings.blockCount() * stride];
        host = new long[settings.hostBlockCount() * stride];
    }

    /** What the slot of a position holds in a group. @param contents of the positions, the same for every group */
    static long content(long[] contents, int position, int group) {
        return ObviousCache.inGroup(contents[position], group);
    }

    /** Does the copies in order and clears them. @param copiedTo told every device block that was written */
    void copy(BlockCopies copies, IntConsumer copiedTo) {
        for (int i = 0; i < copies.size(); i++) {
            int source = copies.source(i) * stride;
            int target = copies.target(i) * stride;
            switch (copies.direction(i)) {
                case WITHIN_DEVICE -> System.arraycopy(slots, source, slots, target, stride);
                case TO_HOST -> System.arraycopy(slots, source, host, target, stride);
                case TO_DEVICE -> System.arraycopy(host, source, slots, target, stride);
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
                put(sequence, group, position, content(contents, position, group));
            }
        }
    }

    /** Makes positions worthless: they are not computed yet, or their step failed. */
    void spoil(TokenSequence sequence, int from, int to) {
        for (int group = 0; group < groupCount; group++) {
            for (int position = from; position < to; position++) {
                put(sequence, group, position, GARBAGE);
            }
        }
    }

    void spoilBlock(int block) {
        Arrays.fill(slots, block * stride, (block + 1) * stride, GARBAGE);
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
        int size = settings.blockSize(group);
        for (int position = index * size; position < (index + 1) * size; position++) {
            if (!isRight(sequence, contents, group, position)) {
                return false;
            }
        }
        return true;
    }

    private boolean isRight(TokenSequence sequence, long[] contents, int group, int position) {
        int slot = slot(sequence, group, position);
        return slot < 0 || slots[slot] == content(contents, position, group);
    }

    /** @throws AssertionError if a position has no block, or another content */
    void check(TokenSequence sequence, long[] contents, int group, int from, int to) {
        for (int position = from; position < to; position++) {
            int slot = slot(sequence, group, position);
            if (slot < 0 || slots[slot] != content(contents, position, group)) {
                throw new AssertionError("position " + position + " of group " + group + " in table "
                        + sequence.table(group) + ": other content than computed");
            }
        }
    }

    private void put(TokenSequence sequence, int group, int position, long content) {
        int slot = slot(sequence, group, position);
        if (slot >= 0) {
            slots[slot] = content;
        }
    }

    /** Where a position's content lies; below 0 if it has no block. */
    private int slot(TokenSequence sequence, int group, int position) {
        int size = settings.blockSize(group);
        int block = sequence.table(group).block(position / size);
        return block == NULL_BLOCK ? -1 : block * stride + position % size;
    }
}
