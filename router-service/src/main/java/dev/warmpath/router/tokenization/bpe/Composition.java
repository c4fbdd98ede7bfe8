package dev.warmpath.router.tokenization.bpe;

import java.text.Normalizer;
import org.jspecify.annotations.Nullable;

/** NFC, which some models want their text in. */
final class Composition {
    /** No character below this one is changed, or changes another. */
    private static final int FIRST_CHANGED = 0x300;
    /** The JDK sorts the marks behind a letter one by one, so that its time grows with their number's square. */
    private static final int MOST_MARKS = 128;

    private Composition() {}

    /** The text composed; null if it has more marks in a row than can be sorted in no time. */
    static @Nullable String of(String text) {
        int bits = 0;
        for (int i = 0; i < text.length(); i++) {
            bits |= text.charAt(i);
        }
        if (bits < FIRST_CHANGED) {
            return text;
        }
        return hasManyMarks(text) ? null : Normalizer.normalize(text, Normalizer.Form.NFC);
    }

    private static boolean hasManyMarks(String text) {
        int marks = 0;
        int width;
        for (int at = 0; at < text.length() && marks <= MOST_MARKS; at += width) {
            int c = text.codePointAt(at);
            width = Character.charCount(c);
            marks = c >= FIRST_CHANGED && (CharClass.of(c) & CharClass.MARK) != 0 ? marks + 1 : 0;
        }
        return marks > MOST_MARKS;
    }
}
