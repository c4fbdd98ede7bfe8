package dev.warmpath.worker.compute;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * How the values of a weight are stored, in its file and on the way to the device, which may keep them so or otherwise:
 * row by row in blocks of so many elements. Little-endian, any alignment. Whoever has a faster way for a format than
 * {@link #widen} is held to it.
 *
 * <p>Blocks of more than one element are GGUF's: whole numbers with scales in common. {@link SmallBlocks} and
 * {@link SuperBlocks} draw them, {@link WeightBlock} is one of them.
 */
public enum WeightFormat {
    F32(Float.BYTES, PlainValues::widenF32),
    /** IEEE 754's binary16. */
    F16(Short.BYTES, PlainValues::widenF16),
    /** The upper half of a float32. */
    BF16(Short.BYTES, PlainValues::widenBf16),
    Q8_0(SmallBlocks.ELEMENTS, SmallBlocks.ELEMENTS, 34, 8, 128, SmallBlocks::readQ8),
    Q4_0(SmallBlocks.ELEMENTS, SmallBlocks.ELEMENTS, 18, 4, 8, SmallBlocks::readQ4),
    Q4_1(SmallBlocks.ELEMENTS, SmallBlocks.ELEMENTS, 20, 4, 0, SmallBlocks::readQ4WithMinimum),
    Q5_0(SmallBlocks.ELEMENTS, SmallBlocks.ELEMENTS, 22, 5, 16, SmallBlocks::readQ5),
    Q5_1(SmallBlocks.ELEMENTS, SmallBlocks.ELEMENTS, 24, 5, 0, SmallBlocks::readQ5WithMinimum),
    Q4_K(SuperBlocks.ELEMENTS, SuperBlocks.GROUP, 144, 4, 0, SuperBlocks::readQ4),
    Q5_K(SuperBlocks.ELEMENTS, SuperBlocks.GROUP, 176, 5, 0, SuperBlocks::readQ5),
    Q6_K(SuperBlocks.ELEMENTS, SuperBlocks.SHORT_GROUP, 210, 6, 32, SuperBlocks::readQ6);

    /** The arithmetic of a format whose elements stand by themselves. */
    private interface Widening {
        /** @param at byte where the first of {@code count} elements begins; the target is filled from 0 on */
        void widen(MemorySegment values, long at, int count, float[] target);
    }

    /** How a block lies in memory. */
    private interface Reading {
        /** @param at byte where the block begins */
        void read(MemorySegment values, long at, WeightBlock block);
    }

    private final int blockElements;
    private final int groupElements;
    private final int blockBytes;
    private final int codeBits;
    private final int codeOffset;
    private final @Nullable Widening widening;
    private final @Nullable Reading reading;

    WeightFormat(int bytes, Widening widening) {
        this.blockElements = 1;
        this.groupElements = 1;
        this.blockBytes = bytes;
        this.codeBits = 0;
        this.codeOffset = 0;
        this.widening = widening;
        this.reading = null;
    }

    WeightFormat(int blockElements, int groupElements, int blockBytes, int codeBits, int codeOffset, Reading reading) {
        this.blockElements = blockElements;
        this.groupElements = groupElements;
        this.blockBytes = blockBytes;
        this.codeBits = codeBits;
        this.codeOffset = codeOffset;
        this.widening = null;
        this.reading = reading;
    }

    /** Whether elements have a scale in common, and {@link WeightBlock} holds them. */
    public boolean hasBlocks() {
        return reading != null;
    }

    /** Elements of one block, which are neighbours in a row; 1 where each is stored by itself. */
    public int blockElements() {
        return blockElements;
    }

    /** Neighbours in a block that have a scale of their own within the block's. */
    public int groupElements() {
        return groupElements;
    }

    public int blockBytes() {
        return blockBytes;
    }

    /** Bits of an element's code in a block: 4, 5, 6 or 8. */
    public int codeBits() {
        return codeBits;
    }

    /** The code of an element that is worth nothing, or the minimum alone where there is one: {@code minimum} says. */
    public int codeOffset() {
        return codeOffset;
    }

    /** Whether elements are counted from a minimum on. */
    public boolean hasMinimum() {
        return hasBlocks() && codeOffset == 0;
    }

    /** Whether groups are less than the block. */
    public boolean hasGroups() {
        return groupElements < blockElements;
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
        if (widening != null) {
            widening.widen(values, bytes(first), count, target);
            return;
        }
        var block = new WeightBlock(this);
        for (int start = 0; start < count; start += blockElements) {
            read(values, (first + start) / blockElements, block);
            block.widen(target, start);
        }
    }

    /**
     * Stores values as {@link #Q8_0}, each at most half a step from what it was, and what the scale loses in binary16:
     * a 2,048th, or more below a scale of 6e-5.
     * @param count  values from 0 on, whole blocks
     * @param target begins to be filled at byte {@code at}
     */
    public static void toQ8(float[] values, int count, MemorySegment target, long at) {
        for (int start = 0; start < count; start += SmallBlocks.ELEMENTS) {
            SmallBlocks.writeQ8(values, start, target, at + Q8_0.bytes(start));
        }
    }

    /**
     * Takes a block apart.
     * @param index of the block in {@code values}
     * @param into  of this format, overwritten
     */
    public void read(MemorySegment values, long index, WeightBlock into) {
        if (reading == null) {
            throw new IllegalArgumentException(this + " has no blocks");
        }
        reading.read(values, index * blockBytes, into);
    }
}
