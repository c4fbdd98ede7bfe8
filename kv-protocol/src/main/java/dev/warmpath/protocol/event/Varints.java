package dev.warmpath.protocol.event;

import java.nio.ByteBuffer;

/**
 * Whole numbers in as few bytes as they need: 7 bits a byte, least significant group first, top bit set on all but the
 * last. What {@link KvEventCodec} and the pool's frames have in common.
 */
public final class Varints {

    /** The longest one. */
    public static final int MAX_BYTES = 10;

    private Varints() {}

    public static void put(ByteBuffer out, long value) {
        long rest = value;
        while ((rest & ~0x7fL) != 0) {
            out.put((byte) (rest | 0x80));
            rest >>>= 7;
        }
        out.put((byte) rest);
    }

    /** @throws EventFormatException if it is longer than {@link #MAX_BYTES} */
    public static long get(ByteBuffer in) {
        long value = 0;
        for (int i = 0; i < MAX_BYTES; i++) {
            byte next = in.get();
            value |= (next & 0x7fL) << (7 * i);
            if (next >= 0) {
                return value;
            }
        }
        throw new EventFormatException("a number is longer than " + MAX_BYTES + " bytes");
    }

    /**
     * Reads a count and refuses it before anything of that size is allocated.
     *
     * @param bytesEach the fewest bytes that each of them takes
     * @throws EventFormatException if it is above {@code limit}, or more than what is left can hold
     */
    public static int getCount(ByteBuffer in, int limit, String what, int bytesEach) {
        long count = get(in);
        if (count < 0 || count > limit || count > in.remaining() / bytesEach) {
            throw new EventFormatException("claims " + Long.toUnsignedString(count) + " " + what
                    + ", limit " + limit + ", " + in.remaining() + " bytes left");
        }
        return (int) count;
    }
}
