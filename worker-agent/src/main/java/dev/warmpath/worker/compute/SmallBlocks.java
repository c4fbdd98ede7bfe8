package dev.warmpath.worker.compute;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * GGUF's blocks of 32 elements, of which each has a scale d, and some a minimum m, both binary16. Element i has a code
 * q[i]: 8 bits, signed, or 4, of which two share a byte, or 4 there and the fifth in a word of its own.
 * <pre>
 *   byte   0 1   2 3   4 …
 *   Q8_0   d     q[0] … q[31]                                  34 bytes   d · q          q of −128 to 127
 *   Q4_0   d     n[0] … n[15]                                  18         d · (q − 8)
 *   Q4_1   d     m     n[0] … n[15]                            20         d · q + m
 *   Q5_0   d     h (4 bytes)   n[0] … n[15]                    22         d · (q − 16)
 *   Q5_1   d     m             h (4 bytes)   n[0] … n[15]      24         d · q + m
 *
 *   byte n[j] of 16:   q[j + 16] in its upper four bits, q[j] in its lower four
 *   word h:            bit i is the fifth, highest bit of q[i]
 * </pre>
 * Products and sums are rounded to float32 one by one. Source: ggml, ggml-common.h (block_q8_0 and so on) and
 * ggml-quants.c (dequantize_row_…); gguf-py, quants.py.
 */
final class SmallBlocks {

    static final int ELEMENTS = 32;

    private static final int HALF = ELEMENTS / 2;
    /** Changes no number that it is added to, not even the sign of zero. */
    private static final float NO_MINIMUM = -0f;
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private SmallBlocks() {}

    static void widenQ8(MemorySegment values, long at, int blockCount, float[] target) {
        for (int block = 0; block < blockCount; block++) {
            long start = at + (long) block * WeightFormat.Q8_0.blockBytes();
            float scale = PlainValues.f16(values, start);
            for (int i = 0; i < ELEMENTS; i++) {
                target[block * ELEMENTS + i] = values.get(ValueLayout.JAVA_BYTE, start + 2 + i) * scale;
            }
        }
    }

    static void widenQ4(MemorySegment values, long at, int blockCount, float[] target) {
        for (int block = 0; block < blockCount; block++) {
            long start = at + (long) block * WeightFormat.Q4_0.blockBytes();
            widen(values, PlainValues.f16(values, start), /* offset */ 8, NO_MINIMUM, 0, start + 2, target,
                    block * ELEMENTS);
        }
    }

    static void widenQ4WithMinimum(MemorySegment values, long at, int blockCount, float[] target) {
        for (int block = 0; block < blockCount; block++) {
            long start = at + (long) block * WeightFormat.Q4_1.blockBytes();
            widen(values, PlainValues.f16(values, start), /* offset */ 0, PlainValues.f16(values, start + 2), 0,
                    start + 4, target, block * ELEMENTS);
        }
    }

    static void widenQ5(MemorySegment values, long at, int blockCount, float[] target) {
        for (int block = 0; block < blockCount; block++) {
            long start = at + (long) block * WeightFormat.Q5_0.blockBytes();
            widen(values, PlainValues.f16(values, start), /* offset */ 16, NO_MINIMUM, values.get(INT, start + 2),
                    start + 6, target, block * ELEMENTS);
        }
    }

    static void widenQ5WithMinimum(MemorySegment values, long at, int blockCount, float[] target) {
        for (int block = 0; block < blockCount; block++) {
            long start = at + (long) block * WeightFormat.Q5_1.blockBytes();
            widen(values, PlainValues.f16(values, start), /* offset */ 0, PlainValues.f16(values, start + 2),
                    values.get(INT, start + 4), start + 8, target, block * ELEMENTS);
        }
    }

    /**
     * One block of 4 or 5 bits.
     * @param offset  what is taken from each code
     * @param fifths  the word h; 0 where there is none
     * @param nibbles byte where n begins
     */
    private static void widen(MemorySegment values, float scale, int offset, float minimum, int fifths, long nibbles,
            float[] target, int to) {
        for (int j = 0; j < HALF; j++) {
            int pair = values.get(ValueLayout.JAVA_BYTE, nibbles + j);
            int low = pair & 15 | (fifths >>> j & 1) << 4;
            int high = pair >> 4 & 15 | (fifths >>> j + HALF & 1) << 4;
            target[to + j] = scale * (low - offset) + minimum;
            target[to + j + HALF] = scale * (high - offset) + minimum;
        }
    }
}
