package dev.warmpath.worker.compute;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * GGUF's blocks of 256 elements, "K-quants", whose groups have scales of their own, small whole numbers that share one
 * binary16 d; where groups have minimums, those share one m.
 * <pre>
 *   byte   0 …            16 …          48 …
 *   Q4_K   d   m   s[12]  n[0 … 127]                  144 bytes   (d · scale) · q − (m · minimum)   8 groups of 32
 *   Q5_K   d   m   s[12]  h[0 … 31]     n[0 … 127]    176         likewise
 *   byte   0 …            128 …         192 …          208
 *   Q6_K   n[0 … 127]     h[0 … 63]     scale[0 … 15]  d   210    (d · scale) · (q − 32)           16 groups of 16
 *
 *   s, of Q4_K and Q5_K, holds the 6 bits of 8 scales and 8 minimums:
 *     group g &lt; 4   scale = s[g], lower 6 bits                  minimum = s[g + 4], lower 6 bits
 *     group g ≥ 4   scale = s[g + 4], lower 4 bits, and above   minimum = s[g + 4], upper 4 bits, and above them
 *                   them the upper 2 of s[g − 4]                the upper 2 of s[g]
 *   q of Q4_K and Q5_K: 32 bytes of n are two groups: the lower 4 bits of n[32 p + i] are q[64 p + i], the upper 4
 *     q[64 p + 32 + i]; bit g of h[i] is the fifth bit of element i of group g
 *   q of Q6_K: each half of 128 elements has 64 bytes of n, 32 of h and 8 scales: element 32 k + i of it has its lower
 *     bits in n[32 (k % 2) + i], lower 4 bits if k &lt; 2, else upper; the upper two are bits 2 k and 2 k + 1 of h[i]
 * </pre>
 * Products and differences are rounded to float32 one by one, those in parentheses first. Source: ggml, ggml-common.h
 * (block_q4_K and so on) and ggml-quants.c (dequantize_row_…, get_scale_min_k4); gguf-py, quants.py.
 */
final class SuperBlocks {

    static final int ELEMENTS = 256;

    private static final int GROUP = 32;
    private static final int SCALES = 4;
    private static final int SCALE_BYTES = 12;
    private static final int FIFTHS_BYTES = 32;
    private static final ValueLayout.OfByte BYTE = ValueLayout.JAVA_BYTE;

    private SuperBlocks() {}

    static void widenQ4(MemorySegment values, long at, int blockCount, float[] target) {
        for (int block = 0; block < blockCount; block++) {
            long start = at + (long) block * WeightFormat.Q4_K.blockBytes();
            for (int group = 0; group < ELEMENTS / GROUP; group++) {
                long nibbles = start + SCALES + SCALE_BYTES + group / 2 * GROUP;
                widenGroup(values, start, group, nibbles, /* fifths */ -1, target, block * ELEMENTS + group * GROUP);
            }
        }
    }

    static void widenQ5(MemorySegment values, long at, int blockCount, float[] target) {
        for (int block = 0; block < blockCount; block++) {
            long start = at + (long) block * WeightFormat.Q5_K.blockBytes();
            long fifths = start + SCALES + SCALE_BYTES;
            for (int group = 0; group < ELEMENTS / GROUP; group++) {
                long nibbles = fifths + FIFTHS_BYTES + group / 2 * GROUP;
                widenGroup(values, start, group, nibbles, fifths, target, block * ELEMENTS + group * GROUP);
            }
        }
    }

    /**
     * A group of Q4_K or Q5_K.
     * @param start   byte where the block begins
     * @param nibbles byte where the group's part of n begins
     * @param fifths  byte where h begins; negative where there is none
     */
    private static void widenGroup(MemorySegment values, long start, int group, long nibbles, long fifths,
            float[] target, int to) {
        long scales = start + SCALES;
        float scale = PlainValues.f16(values, start) * scale(values, scales, group);
        float minimum = PlainValues.f16(values, start + 2) * minimum(values, scales, group);
        int shift = group % 2 * 4;
        for (int i = 0; i < GROUP; i++) {
            int code = values.get(BYTE, nibbles + i) >> shift & 15;
            if (fifths >= 0) {
                code |= (values.get(BYTE, fifths + i) >> group & 1) << 4;
            }
            target[to + i] = scale * code - minimum;
        }
    }

    private static int scale(MemorySegment values, long scales, int group) {
        return group < 4 ? values.get(BYTE, scales + group) & 63
                : values.get(BYTE, scales + group + 4) & 15 | (values.get(BYTE, scales + group - 4) >> 6 & 3) << 4;
    }

    private static int minimum(MemorySegment values, long scales, int group) {
        return group < 4 ? values.get(BYTE, scales + group + 4) & 63
                : values.get(BYTE, scales + group + 4) >> 4 & 15 | (values.get(BYTE, scales + group) >> 6 & 3) << 4;
    }

    static void widenQ6(MemorySegment values, long at, int blockCount, float[] target) {
        for (int block = 0; block < blockCount; block++) {
            long start = at + (long) block * WeightFormat.Q6_K.blockBytes();
            float shared = PlainValues.f16(values, start + 208);
            for (int half = 0; half < 2; half++) {
                widenHalf(values, shared, start + half * 64, start + 128 + half * 32, start + 192 + half * 8, target,
                        block * ELEMENTS + half * ELEMENTS / 2);
            }
        }
    }

    /** Half a block of Q6_K. @param nibbles byte where its part of n begins; the next two likewise of h and scales */
    private static void widenHalf(MemorySegment values, float shared, long nibbles, long highs, long scales,
            float[] target, int to) {
        for (int k = 0; k < 4; k++) {
            for (int i = 0; i < GROUP; i++) {
                int low = values.get(BYTE, nibbles + k % 2 * GROUP + i) >> k / 2 * 4 & 15;
                int code = low | (values.get(BYTE, highs + i) >> 2 * k & 3) << 4;
                float scale = shared * values.get(BYTE, scales + 2 * k + i / 16);
                target[to + k * GROUP + i] = scale * (code - 32);
            }
        }
    }
}
