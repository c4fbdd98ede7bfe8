package dev.warmpath.cli.doctor;

import java.util.Locale;

/**
 * One thing that was looked at.
 *
 * @param sentence what is so; if it should not be, what to do, too
 */
public record Finding(Grade grade, String sentence) {

    /** What it asks of whoever reads it. */
    public enum Grade {
        OK,
        /** It works, and would be better otherwise. */
        WARNING,
        /** Something must be changed. */
        MISSING;

        /** As it stands in front of a sentence. */
        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
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

    /** As the doctor of engines writes its own. */
    public String line() {
        return String.format(Locale.ROOT, "  %-7s  %s", grade, sentence);
    }
}
