package dev.warmpath.tokenization.bpe;

import java.text.Normalizer;
import java.util.BitSet;
import org.jspecify.annotations.Nullable;

/** NFC, which some models want their text in. */
final class Composition {
    /** No character below this one is changed, or changes another. */
    private static final int FIRST_CHANGED = 0x300;
    /** The JDK sorts the marks behind a letter one by one, so that its time grows with their number's square. */
    private static final int MOST_MARKS = 128;

    /**
     * First and last of the characters that Unicode 9, whose tables the library composes by, had not assigned yet, and
     * that are not left as they are: marks, and letters that are composed. {@code CompositionTest} finds them.
     */
    private static final int[] NEWER = {
        0x7FD, 0x7FD, 0x897, 0x89F, 0x8CA, 0x8D3, 0x9FE, 0x9FE, 0xC3C, 0xC3C, 0xD3B, 0xD3C, 0xEBA, 0xEBA,
        0x1715, 0x1715, 0x1ABF, 0x1ACE, 0x1DF6, 0x1DFA, 0xA82C, 0xA82C, 0x105C9, 0x105C9, 0x105D2, 0x105D2,
        0x105DA, 0x105DA, 0x105E4, 0x105E4, 0x10D24, 0x10D27, 0x10D69, 0x10D6D, 0x10EAB, 0x10EAC, 0x10EFD, 0x10EFF,
        0x10F46, 0x10F50, 0x10F82, 0x10F85, 0x11070, 0x11070, 0x1133B, 0x1133B, 0x11382, 0x11385, 0x1138B, 0x1138B,
        0x1138E, 0x1138E, 0x11390, 0x11391, 0x113C2, 0x113C2, 0x113C5, 0x113C5, 0x113C7, 0x113C8, 0x113CE, 0x113D0,
        0x1145E, 0x1145E, 0x11839, 0x1183A, 0x11935, 0x11935, 0x11938, 0x11938, 0x1193D, 0x1193E, 0x11943, 0x11943,
        0x119E0, 0x119E0, 0x11A34, 0x11A34, 0x11A47, 0x11A47, 0x11A99, 0x11A99, 0x11D42, 0x11D42, 0x11D44, 0x11D45,
        0x11D97, 0x11D97, 0x11F41, 0x11F42, 0x1611E, 0x1611E, 0x16121, 0x16129, 0x1612F, 0x1612F, 0x16D63, 0x16D63,
        0x16D67, 0x16D6A, 0x16FF0, 0x16FF1, 0x1E08F, 0x1E08F, 0x1E130, 0x1E136, 0x1E2AE, 0x1E2AE, 0x1E2EC, 0x1E2EF,
        0x1E4EC, 0x1E4EF, 0x1E5EE, 0x1E5EF};
    private static final BitSet NEWER_CHARACTERS = new BitSet();

    static {
        for (int i = 0; i < NEWER.length; i += 2) {
            NEWER_CHARACTERS.set(NEWER[i], NEWER[i + 1] + 1);
        }
    }

    private Composition() {}

    /** The text composed; null if the library may do it otherwise, or has it done sooner. */
    static @Nullable String of(String text) {
        int bits = 0;
        for (int i = 0; i < text.length(); i++) {
            bits |= text.charAt(i);
        }
        if (bits < FIRST_CHANGED) {
            return text;
        }
        return isKnown(text) ? Normalizer.normalize(text, Normalizer.Form.NFC) : null;
    }

    private static boolean isKnown(String text) {
        int marks = 0;
        int width;
        for (int at = 0; at < text.length() && marks <= MOST_MARKS; at += width) {
            int c = text.codePointAt(at);
            width = Character.charCount(c);
            if (NEWER_CHARACTERS.get(c)) {
                return false;
            }
            marks = c >= FIRST_CHANGED && (CharClass.of(c) & CharClass.MARK) != 0 ? marks + 1 : 0;
        }
        return marks <= MOST_MARKS;
    }
}
