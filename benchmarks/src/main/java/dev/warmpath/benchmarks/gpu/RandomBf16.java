package dev.warmpath.benchmarks.gpu;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.SplittableRandom;

/**
 * Random bf16 numbers, four of the bits of one random long: gigabytes in seconds. Never zeros: on zeros a card is
 * faster than on data.
 */
enum RandomBf16 {
    /** Random signs, magnitudes of 0.5 to 2: activations, keys, values. */
    ACTIVATION(0x80FF_80FF_80FF_80FFL, 0x3F00_3F00_3F00_3F00L),
    /** Random signs, magnitudes of 2⁻⁷ to 2⁻⁵, 0.018 in the mean square: keeps a 2,048 wide model's logits near 1. */
    WEIGHT(0x80FF_80FF_80FF_80FFL, 0x3C00_3C00_3C00_3C00L),
    /** 0.5 to 1: the weights of norms. */
    NORM(0x007F_007F_007F_007FL, 0x3F00_3F00_3F00_3F00L);

    static final int BYTES = 2;

    /** Which random bits count: signs, fractions, and for a wider range the exponents' last. */
    private final long mask;
    /** The exponents. */
    private final long bits;

    RandomBf16(long mask, long bits) {
        this.mask = mask;
        this.bits = bits;
    }

    /** @param target a multiple of 8 bytes long */
    void fill(MemorySegment target, SplittableRandom random) {
        for (long at = 0; at < target.byteSize(); at += Long.BYTES) {
            target.set(ValueLayout.JAVA_LONG_UNALIGNED, at, random.nextLong() & mask | bits);
        }
    }

    /** [rows, columns]; columns a multiple of 4. */
    MemorySegment matrix(Arena arena, int rows, int columns, SplittableRandom random) {
        var values = arena.allocate((long) rows * columns * BYTES);
        fill(values, random);
        return values;
    }
}
