package dev.warmpath.planner.output;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Numbers as people read them, the same in every country. */
public final class Figures {

    private Figures() {}

    /** {@code 38.2 %}; a dash if it is not a number. */
    public static String percent(double share) {
        return Double.isFinite(share) ? String.format(Locale.ROOT, "%.1f %%", 100 * share) : "–";
    }

    /** Of milliseconds: {@code 1.30 s}, {@code 23.4 ms}; a dash if it is not a number. */
    public static String time(double millis) {
        return !Double.isFinite(millis) ? "–" : millis >= 1_000 ? String.format(Locale.ROOT, "%.2f s", millis / 1e3)
                : String.format(Locale.ROOT, "%.1f ms", millis);
    }

    /** {@code 12,031}. */
    public static String count(long number) {
        return String.format(Locale.ROOT, "%,d", number);
    }

    /** {@code 1.04}; a dash if it is not a number. */
    public static String ratio(double number) {
        return Double.isFinite(number) ? String.format(Locale.ROOT, "%.2f", number) : "–";
    }

    /** For JSON, which has only finite numbers: null in place of the others. */
    public static @Nullable Double orNull(double number) {
        return Double.isFinite(number) ? number : null;
    }
}
