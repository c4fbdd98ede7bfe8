package dev.warmpath.tokenization.template;

import java.time.Clock;
import java.util.function.LongSupplier;

/**
 * What time a rendering takes it to be.
 *
 * @param date     what {@code strftime_now} tells
 * @param nanoTime monotonic, as {@link System#nanoTime}: how long it has run
 */
public record RenderClock(Clock date, LongSupplier nanoTime) {
    /** This machine's. */
    public static final RenderClock SYSTEM = new RenderClock(Clock.systemDefaultZone(), System::nanoTime);
}
