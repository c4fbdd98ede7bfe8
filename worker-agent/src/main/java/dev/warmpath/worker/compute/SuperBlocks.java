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
 * Source: ggml, ggml-common.h (block_q4_K and so on) and ggml-quants.c (dequantize_row_…, get_scale_min_k4); gguf-py,
 * quants.py.
 */
final class SuperBlocks {

    static final int ELEMENTS = 256;
    static final int GROUP = 32;
    static final int SHORT_GROUP = 16;

    private static final int SCALES = 4;
    private static final int SCALE_BYTES = 12;
    private static final int FIFTHS_BYTES = 32;
    private static final ValueLayout.OfByte BYTE = ValueLayout.JAVA_BYTE;

    private SuperBlocks() {}

    static void readQ4(MemorySegment values, long at, WeightBlock block) {
        readScales(values, at, block);
        readCodes(values, at + SCALES + SCALE_BYTES, block.codes);
    }

    static void readQ5(MemorySegment values, long at, WeightBlock block) {
        readScales(values, at, block);
        long fifths = at + SCALES + SCALE_BYTES;
        readCodes(values, fifths + FIFTHS_BYTES, block.codes);
        for (int i = 0; i < ELEMENTS; i++) {
            block.codes[i] |= (values.get(BYTE, fifths + i % GROUP) >> i / GROUP & 1) << 4;
        }
    }

    /** Minimums are taken away here, and added in a {@link WeightBlock}. */
    private static void readScales(MemorySegment values, long at, WeightBlock block) {
        block.scale = PlainValues.f16(values, at);
        block.minimum = -PlainValues.f16(values, at + 2);
        for (int group = 0; group < ELEMENTS / GROUP; group++) {
            block.groupScales[group] = scale(values, at + SCALES, group);
            block.groupMinimums[group] = minimum(values, at + SCALES, group);
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

    /** Of Q4_K and Q5_K, the lower four bits. */
    private static void readCodes(MemorySegment values, long nibbles, int[] codes) {
        for (int i = 0; i < ELEMENTS; i++) {
            int group = i / GROUP;
            codes[i] = values.get(BYTE, nibbles + group / 2 * GROUP + i % GROUP) >> group % 2 * 4 & 15;
        }
    }

    static void readQ6(MemorySegment values, long at, WeightBlock block) {
        block.scale = PlainValues.f16(values, at + 208);
        for (int group = 0; group < ELEMENTS / SHORT_GROUP; group++) {
            block.groupScales[group] = values.get(BYTE, at + 192 + group);
        }
        for (int i = 0; i < ELEMENTS; i++) {
            int half = i / 128;
            int k = i % 128 / GROUP;
            int low = values.get(BYTE, at + half * 64 + k % 2 * GROUP + i % GROUP) >> k / 2 * 4 & 15;
            int high = values.get(BYTE, at + 128 + half * 32 + i % GROUP) >> 2 * k & 3;
            block.codes[i] = low | high << 4;
        }
    }
}
