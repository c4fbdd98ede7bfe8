package dev.warmpath.worker.compute.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * A kernel's parameters, filled in order before each launch. The native block is laid out once and written over and
 * over: a table of addresses, as {@code cuLaunchKernel} takes it, and behind it the values, 8 bytes each.
 * <pre>
 *   [&amp;value 0][&amp;value 1] … [&amp;value 31] [value 0][value 1] … [value 31]
 * </pre>
 */
final class Arguments {

    private static final int LIMIT = 32;
    private static final long SLOT_BYTES = 8;
    private static final long VALUES = LIMIT * SLOT_BYTES;

    private final MemorySegment block;
    private int count;

    /** @param arena of the block */
    Arguments(Arena arena) {
        block = arena.allocate(2 * VALUES, SLOT_BYTES);
        for (long slot = 0; slot < VALUES; slot += SLOT_BYTES) {
            block.set(ADDRESS, slot, block.asSlice(VALUES + slot));
        }
    }

    Arguments emptied() {
        count = 0;
        return this;
    }

    /** Null is the null pointer. */
    Arguments pointer(@Nullable DevicePointer value) {
        return wide(value == null ? 0 : value.address());
    }

    /** A parameter of 4 bytes. */
    Arguments integer(int value) {
        block.set(JAVA_INT, next(), value);
        return this;
    }

    /** A parameter of 8 bytes. */
    Arguments wide(long value) {
        block.set(JAVA_LONG, next(), value);
        return this;
    }

    Arguments real(float value) {
        block.set(JAVA_FLOAT, next(), value);
        return this;
    }

    private long next() {
        if (count == LIMIT) {
            throw new IllegalStateException("a kernel of ours takes at most " + LIMIT + " parameters");
        }
        return VALUES + SLOT_BYTES * count++;
    }

    MemorySegment block() {
        return block;
    }
}
