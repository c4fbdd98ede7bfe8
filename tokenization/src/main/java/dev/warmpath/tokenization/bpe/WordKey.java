package dev.warmpath.tokenization.bpe;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * A word in two {@code long}s. Up to {@link #EXACT_BYTES} they are the word itself, with its length in the top byte of
 * the second; of a longer one they are a hash, with the length mixed in, and equal keys are yet to be compared.
 */
final class WordKey {
    static final int EXACT_BYTES = 15;
    private static final VarHandle LONG =
            MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final long PRIME = 0x9E3779B97F4A7C15L;
    /** In place of a length, so that no exact key is a hash too. */
    private static final long HASHED = 0xFFL << 56;

    private WordKey() {}

    /** @param text padded */
    static long first(byte[] text, int from, int length) {
        if (length > EXACT_BYTES) {
            return hash(text, from, length);
        }
        long word = (long) LONG.get(text, from);
        return length >= 8 ? word : word & (1L << 8 * length) - 1;
    }

    /** @param text padded */
    static long second(byte[] text, int from, int length) {
        if (length > EXACT_BYTES) {
            return HASHED | length;
        }
        long rest = length <= 8 ? 0 : (long) LONG.get(text, from + 8) & (1L << 8 * (length - 8)) - 1;
        return rest | (long) length << 56;
    }

    private static long hash(byte[] text, int from, int length) {
        long hash = length;
        int at = 0;
        for (; at + 8 <= length; at += 8) {
            hash = mix(hash ^ (long) LONG.get(text, from + at));
        }
        return at == length ? hash : mix(hash ^ (long) LONG.get(text, from + at) & (1L << 8 * (length - at)) - 1);
    }

    private static long mix(long bits) {
        long product = bits * PRIME;
        return product ^ product >>> 32;
    }

    /** A number that depends on all bits of the key. */
    static int spread(long first, long second) {
        return (int) (mix(first ^ mix(second)) * PRIME >>> 32);
    }
}
