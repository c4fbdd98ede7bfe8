package dev.warmpath.worker;

import java.util.Locale;
import java.util.function.UnaryOperator;

/**
 * One thing that was looked at.
 *
 * @param sentence what is so; if it should not be, what to do, too
 */
record Finding(Grade grade, String sentence) {

    /** What it asks of whoever reads it. */
    enum Grade {
        OK,
        /** It works, and would be better otherwise. */
        WARNING,
        /** Something must be changed. */
        MISSING
    }

    static Finding ok(String sentence) {
        return new Finding(Grade.OK, sentence);
    }

    static Finding warning(String sentence) {
        return new Finding(Grade.WARNING, sentence);
    }

    static Finding missing(String sentence) {
        return new Finding(Grade.MISSING, sentence);
    }

    /** @param words the sentence is put by */
    String line(UnaryOperator<String> words) {
        return String.format(Locale.ROOT, "%-7s  %s", grade.name().toLowerCase(Locale.ROOT), words.apply(sentence));
    }
}
