package dev.warmpath.worker.compute;

import java.lang.foreign.MemorySegment;

/**
 * How the values of a weight are stored, in its file and on the way to the device, which may keep them so or otherwise:
 * row by row in blocks of so many elements. Little-endian, any alignment. Whoever has a faster way for a format than
 * {@link #widen} is held to it.
 *
 * <p>Blocks of more than one element are GGUF's; {@link SmallBlocks} and {@link SuperBlocks} draw them.
 */
public enum WeightFormat {
    F32(1, Float.BYTES, PlainValues::widenF32),
    /** IEEE 754's binary16. */
    F16(1, Short.BYTES, PlainValues::widenF16),
    /** The upper half of a float32. */
    BF16(1, Short.BYTES, PlainValues::widenBf16),
    Q8_0(SmallBlocks.ELEMENTS, 34, SmallBlocks::widenQ8),
    Q4_0(SmallBlocks.ELEMENTS, 18, SmallBlocks::widenQ4),
    Q4_1(SmallBlocks.ELEMENTS, 20, SmallBlocks::widenQ4WithMinimum),
    Q5_0(SmallBlocks.ELEMENTS, 22, SmallBlocks::widenQ5),
    Q5_1(SmallBlocks.ELEMENTS, 24, SmallBlocks::widenQ5WithMinimum),
    Q4_K(SuperBlocks.ELEMENTS, 144, SuperBlocks::widenQ4),
    Q5_K(SuperBlocks.ELEMENTS, 176, SuperBlocks::widenQ5),
    Q6_K(SuperBlocks.ELEMENTS, 210, SuperBlocks::widenQ6);

    /** The arithmetic of a format. */
    private interface Widening {
        /** @param at byte where the first of {@code blockCount} blocks begins; the target is filled from 0 on */
        void widen(MemorySegment values, long at, int blockCount, float[] target);
    }

    private final int blockElements;
    private final int blockBytes;
    private final Widening widening;

    WeightFormat(int blockElements, int blockBytes, Widening widening) {
        this.blockElements = blockElements;
        this.blockBytes = blockBytes;
        this.widening = widening;
    }

    /** Elements of one block, which are neighbours in a row; 1 where each is stored by itself. */
    public int blockElements() {
        return blockElements;
    }

    public int blockBytes() {
        return blockBytes;
    }

    /** Whether so many elements, from the beginning of a block on, end where a block ends. */
    public boolean isWhole(long elements) {
        return elements % blockElements == 0;
    }

    /** Bytes of so many elements, a block begun counting whole; {@link Long#MAX_VALUE} if those are past 64 bits. */
    public long bytes(long elements) {
        long blocks = Math.ceilDiv(elements, blockElements);
        return blocks > Long.MAX_VALUE / blockBytes ? Long.MAX_VALUE : blocks * blockBytes;
    }

    /**
     * What the elements are worth: exactly, or for blocks what gguf-py 0.19 makes of them in float32, bit for bit.
     * @param values stored elements, whole blocks
     * @param first  index of the first element to widen, where a block begins
     * @param count  whole blocks
     * @param target filled from 0 on, at least {@code count} long
     * @throws IllegalArgumentException if a block would be cut
     */
    public void widen(MemorySegment values, long first, int count, float[] target) {
        if (!isWhole(first) || !isWhole(count)) {
            throw new IllegalArgumentException("%d elements of %s from %d on, whose blocks have %d"
                    .formatted(count, this, first, blockElements));
        }
        widening.widen(values, bytes(first), count / blockElements, target);
    }
}
