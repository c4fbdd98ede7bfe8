package dev.warmpath.worker.compute;

import java.lang.foreign.MemorySegment;
import java.util.Random;

/** Stored values of any format, for tests. */
public final class RandomBlocks {

    private RandomBlocks() {
    }

    /** Any bits where numbers are whole; binary floating-point ones are not too large, and none is no number. */
    public static MemorySegment smallNumbers(WeightFormat format, int count) {
        byte[] bytes = new byte[(int) format.bytes(count)];
        new Random(7).nextBytes(bytes);
        for (int block = 0; block < bytes.length; block += format.blockBytes()) {
            for (int upperByte : upperBytes(format)) {
                bytes[block + upperByte] &= 0x3B;
            }
        }
        return MemorySegment.ofArray(bytes);
    }

    /** Of the floating-point numbers in a block, with their exponents. */
    private static int[] upperBytes(WeightFormat format) {
        return switch (format) {
            case F32 -> new int[] {3};
            case F16, BF16, Q8_0, Q4_0, Q5_0 -> new int[] {1};
            case Q4_1, Q5_1, Q4_K, Q5_K -> new int[] {1, 3};
            case Q6_K -> new int[] {209};
        };
    }
}
