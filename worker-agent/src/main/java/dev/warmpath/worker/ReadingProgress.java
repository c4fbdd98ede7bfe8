package dev.warmpath.worker;

import java.time.Duration;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Says in the log how far a long reading has come, now and then: whoever waits sees that it goes on, and how fast. */
final class ReadingProgress {

    private static final long INTERVAL_NANOS = Duration.ofSeconds(5).toNanos();
    private static final Logger log = LoggerFactory.getLogger(ReadingProgress.class);

    private final String what;
    private final long allBytes;
    private final LongSupplier nanoTime;
    private long readBytes;
    private long toldNanos;

    /** @param what is read, as it stands in a sentence */
    ReadingProgress(String what, long allBytes, LongSupplier nanoTime) {
        this.what = what;
        this.allBytes = allBytes;
        this.nanoTime = nanoTime;
        this.toldNanos = nanoTime.getAsLong();
    }

    void add(long bytes) {
        readBytes += bytes;
        long now = nanoTime.getAsLong();
        if (now - toldNanos >= INTERVAL_NANOS) {
            toldNanos = now;
            log.info("{} of {} of {} read, {} %", Megabytes.text(readBytes), Megabytes.text(allBytes), what,
                    100 * readBytes / Math.max(1, allBytes));
        }
    }
}
