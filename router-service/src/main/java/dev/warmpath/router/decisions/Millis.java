package dev.warmpath.router.decisions;

import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Times as they are shown: in milliseconds, to the microsecond. */
public final class Millis {

    private Millis() {}

    public static double of(long nanos) {
        return TimeUnit.NANOSECONDS.toMicros(nanos) / 1e3;
    }

    /** Null where nothing is known, which some say by null and some by a number below 0. */
    public static @Nullable Double orNull(@Nullable Long nanos) {
        return nanos == null || nanos < 0 ? null : Double.valueOf(of(nanos));
    }
}
