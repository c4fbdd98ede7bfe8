package dev.warmpath.worker.compute;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Objects;

/** Pairs of blocks to copy, in order; a reusable buffer in native memory. Not thread-safe. */
public final class BlockMapping {

    private final MemorySegment pairs;
    private final int capacity;
    private int count;

    public BlockMapping(int capacity) {
        this.capacity = capacity;
        this.pairs = Arena.ofAuto().allocate(ValueLayout.JAVA_INT, 2L * capacity);
    }

    public void clear() {
        count = 0;
    }

    /** @throws IllegalStateException if the mapping is full */
    public void add(int sourceBlockId, int targetBlockId) {
        if (count == capacity) {
            throw new IllegalStateException("block mapping is full: takes %d pairs".formatted(capacity));
        }
        pairs.setAtIndex(ValueLayout.JAVA_INT, 2L * count, sourceBlockId);
        pairs.setAtIndex(ValueLayout.JAVA_INT, 2L * count + 1, targetBlockId);
        count++;
    }

    public int count() {
        return count;
    }

    public int source(int index) {
        return pairs.getAtIndex(ValueLayout.JAVA_INT, 2L * Objects.checkIndex(index, count));
    }

    public int target(int index) {
        return pairs.getAtIndex(ValueLayout.JAVA_INT, 2L * Objects.checkIndex(index, count) + 1);
    }

    /** int32 [count, 2]: source, target; for backends that copy it to a device as it is. */
    public MemorySegment pairs() {
        return pairs.asSlice(0, 2L * count * Integer.BYTES);
    }
}
