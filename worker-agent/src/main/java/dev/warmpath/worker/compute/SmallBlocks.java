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
 * In a {@link WeightBlock} the codes of Q8_0 begin at 0, too: q + 128. Source: ggml, ggml-common.h (block_q8_0 and so
 * on) and ggml-quants.c (dequantize_row_…); gguf-py, quants.py.
 */
final class SmallBlocks {

    static final int ELEMENTS = 32;

    private static final int HALF = ELEMENTS / 2;
    private static final ValueLayout.OfByte BYTE = ValueLayout.JAVA_BYTE;
    private static final ValueLayout.OfShort SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private SmallBlocks() {}

    static void readQ8(MemorySegment values, long at, WeightBlock block) {
        block.scale = PlainValues.f16(values, at);
        for (int i = 0; i < ELEMENTS; i++) {
            block.codes[i] = values.get(BYTE, at + 2 + i) + 128;
        }
    }

    /**
     * The value of the largest magnitude is 127 steps. The codes are found with the step in float32, and only what is
     * stored of it is rounded. What is not finite, or past what a scale can say, comes back as NaN. Source: ggml,
     * ggml-quants.c, quantize_row_q8_0_ref.
     */
    static void writeQ8(float[] values, int start, MemorySegment target, long at) {
        float largest = 0;
        for (int i = 0; i < ELEMENTS; i++) {
            largest = Math.max(largest, Math.abs(values[start + i]));
        }
        float step = largest / 127;
        float steps = step == 0 ? 0 : 1 / step;
        target.set(SHORT, at, Float.floatToFloat16(step));
        for (int i = 0; i < ELEMENTS; i++) {
            float code = values[start + i] * steps;
            target.set(BYTE, at + 2 + i, (byte) (code + Math.copySign(0.5, code)));      // halves away from 0
        }
    }

    static void readQ4(MemorySegment values, long at, WeightBlock block) {
        block.scale = PlainValues.f16(values, at);
        readCodes(values, at + 2, /* fifths */ 0, block.codes);
    }

    static void readQ4WithMinimum(MemorySegment values, long at, WeightBlock block) {
        block.scale = PlainValues.f16(values, at);
        block.minimum = PlainValues.f16(values, at + 2);
        readCodes(values, at + 4, /* fifths */ 0, block.codes);
    }

    static void readQ5(MemorySegment values, long at, WeightBlock block) {
        block.scale = PlainValues.f16(values, at);
        readCodes(values, at + 6, values.get(INT, at + 2), block.codes);
    }

    static void readQ5WithMinimum(MemorySegment values, long at, WeightBlock block) {
        block.scale = PlainValues.f16(values, at);
        block.minimum = PlainValues.f16(values, at + 2);
        readCodes(values, at + 8, values.get(INT, at + 4), block.codes);
    }

    /**
     * Codes of 4 or 5 bits.
     * @param nibbles byte where n begins
     * @param fifths  the word h; 0 where there is none
     */
    private static void readCodes(MemorySegment values, long nibbles, int fifths, int[] codes) {
        for (int j = 0; j < HALF; j++) {
            int pair = values.get(BYTE, nibbles + j);
            codes[j] = pair & 15 | (fifths >>> j & 1) << 4;
            codes[j + HALF] = pair >> 4 & 15 | (fifths >>> j + HALF & 1) << 4;
        }
    }
}
