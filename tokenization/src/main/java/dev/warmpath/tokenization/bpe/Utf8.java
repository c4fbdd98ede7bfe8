package dev.warmpath.tokenization.bpe;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Text as UTF-8, which is what byte-level tokens are made of. Reading takes valid UTF-8 for granted. */
public final class Utf8 {
    /** Bytes of zero behind a text, so that it can be read a {@code long} at a time. */
    static final int PADDING = 16;

    private Utf8() {}

    /** The text's UTF-8, {@link #withoutLoneSurrogates}, and {@link #PADDING}. */
    static byte[] padded(String text) {
        byte[] bytes = withoutLoneSurrogates(text).getBytes(StandardCharsets.UTF_8);
        return Arrays.copyOf(bytes, bytes.length + PADDING);
    }

    /** Half a surrogate pair is no character, and JSON can carry one: U+FFFD takes its place. */
    public static String withoutLoneSurrogates(String text) {
        for (int i = 0; i < text.length(); i++) {
            if (!Character.isSurrogate(text.charAt(i))) {
                continue;
            }
            if (!Character.isSurrogatePair(text.charAt(i), i + 1 < text.length() ? text.charAt(i + 1) : ' ')) {
                return text.substring(0, i) + text.substring(i).codePoints()
                        .map(c -> c >= Character.MIN_SURROGATE && c <= Character.MAX_SURROGATE ? 0xFFFD : c)
                        .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append);
            }
            i++;
        }
        return text;
    }

    static int codePoint(byte[] text, int at) {
        int first = text[at];
        if (first >= 0) {
            return first;
        }
        int second = text[at + 1] & 0x3F;
        if (first < (byte) 0xE0) {
            return (first & 0x1F) << 6 | second;
        }
        int third = text[at + 2] & 0x3F;
        if (first < (byte) 0xF0) {
            return (first & 0x0F) << 12 | second << 6 | third;
        }
        return (first & 0x07) << 18 | second << 12 | third << 6 | text[at + 3] & 0x3F;
    }

    /** Bytes of a character, by its first one. */
    static int width(int first) {
        return first >= 0 ? 1 : first < (byte) 0xE0 ? 2 : first < (byte) 0xF0 ? 3 : 4;
    }

    /** Whether a byte is anywhere in UTF-8. */
    static boolean isUsed(int b) {
        return b < 0xC0 || b > 0xC1 && b < 0xF5;
    }

    /** Where the character begins that ends at {@code end}. */
    static int lastStart(byte[] text, int end) {
        int at = end - 1;
        while ((text[at] & 0xC0) == 0x80) {
            at--;
        }
        return at;
    }
}
