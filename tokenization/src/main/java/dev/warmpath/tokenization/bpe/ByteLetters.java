package dev.warmpath.tokenization.bpe;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * GPT-2's spelling of bytes as printable letters, in which byte-level vocabularies are written: printable bytes of
 * Latin-1 stand for themselves, the others follow in their order from U+0100 on.
 */
final class ByteLetters {
    private static final char[] LETTERS = new char[256];
    /** By letter: its byte, or -1. */
    private static final short[] BYTES = new short[0x200];

    static {
        Arrays.fill(BYTES, (short) -1);
        int next = 0x100;
        for (int b = 0; b < 256; b++) {
            boolean printable = b >= '!' && b <= '~' || b >= 0xA1 && b != 0xAD;
            LETTERS[b] = (char) (printable ? b : next++);
            BYTES[LETTERS[b]] = (short) b;
        }
    }

    private ByteLetters() {}

    static char letter(int b) {
        return LETTERS[b];
    }

    /** The bytes that a piece of the vocabulary spells; null if one of its characters is no such letter. */
    static byte @Nullable [] spelled(String piece) {
        var bytes = new byte[piece.length()];
        for (int i = 0; i < bytes.length; i++) {
            char letter = piece.charAt(i);
            if (letter >= BYTES.length || BYTES[letter] < 0) {
                return null;
            }
            bytes[i] = (byte) BYTES[letter];
        }
        return bytes;
    }

    /** What a piece decodes to: the bytes that it spells, or else its own UTF-8. */
    static byte[] decoded(String piece) {
        byte @Nullable [] bytes = spelled(piece);
        return bytes != null ? bytes : piece.getBytes(StandardCharsets.UTF_8);
    }
}
