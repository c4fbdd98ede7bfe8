package dev.warmpath.tokenization.bpe;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Text from bytes that need not be UTF-8, as Rust's {@code from_utf8_lossy} and the WHATWG's decoder have it: one
 * U+FFFD for the longest beginning of a character that turns out to be none, at least one byte. (The JDK counts a
 * surrogate's three bytes as one.) So bytes that come later never change what earlier ones gave.
 */
final class LossyUtf8 {
    /** Of {@link #sequence}: the bytes up to the end may yet become a character. */
    static final int UNFINISHED = 0;
    private static final byte[] REPLACEMENT = "\uFFFD".getBytes(StandardCharsets.UTF_8);

    private LossyUtf8() {}

    /**
     * What begins at {@code bytes[at]}, below {@code end}.
     * @return the length of a character; the negative number of bytes that are none; or {@link #UNFINISHED}
     */
    static int sequence(byte[] bytes, int at, int end) {
        int first = bytes[at] & 0xFF;
        if (first < 0x80) {
            return 1;
        }
        if (first < 0xC2 || first > 0xF4) {
            return -1;
        }
        int length = Utf8.width(bytes[at]);
        for (int i = 1; i < length; i++) {
            if (at + i == end) {
                return UNFINISHED;
            }
            int next = bytes[at + i] & 0xFF;
            if (i == 1 ? next < leastSecond(first) || next > mostSecond(first) : next < 0x80 || next > 0xBF) {
                return -i;
            }
        }
        return length;
    }

    /** Shorter spellings, and surrogates, are told by the second byte. */
    private static int leastSecond(int first) {
        return first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    }

    private static int mostSecond(int first) {
        return first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    }

    /** Where the unfinished character begins, {@code end} if there is none. */
    static int finishedEnd(byte[] bytes, int end) {
        for (int at = Math.max(0, end - 3); at < end; at++) {
            if ((bytes[at] & 0xC0) == 0xC0 && sequence(bytes, at, end) == UNFINISHED) {
                return at;
            }
        }
        return end;
    }

    /** The text of {@code bytes[0, end)}. */
    static String text(byte[] bytes, int end) {
        for (int at = 0, length; at < end; at += length) {
            length = sequence(bytes, at, end);
            if (length <= 0) {
                return repaired(bytes, at, end);
            }
        }
        return new String(bytes, 0, end, StandardCharsets.UTF_8);
    }

    private static String repaired(byte[] bytes, int valid, int end) {
        byte[] good = Arrays.copyOf(bytes, valid + REPLACEMENT.length * (end - valid));
        int size = valid;
        for (int at = valid; at < end; ) {
            int length = sequence(bytes, at, end);
            int taken = length > 0 ? length : length == UNFINISHED ? end - at : -length;
            byte[] from = length > 0 ? bytes : REPLACEMENT;
            int written = length > 0 ? length : REPLACEMENT.length;
            System.arraycopy(from, length > 0 ? at : 0, good, size, written);
            size += written;
            at += taken;
        }
        return new String(good, 0, size, StandardCharsets.UTF_8);
    }
}
