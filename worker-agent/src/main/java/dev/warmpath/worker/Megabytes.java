package dev.warmpath.worker;

import java.util.Locale;

/** Bytes as people read them: in units of 2^20, rounded up. */
final class Megabytes {

    static final long BYTES = 1L << 20;

    private Megabytes() {}

    static long of(double bytes) {
        return (long) Math.ceil(bytes / BYTES);
    }

    /** With its unit, such as {@code 1,024 MB}. */
    static String text(double bytes) {
        return String.format(Locale.ROOT, "%,d MB", of(bytes));
    }
}
