package dev.warmpath.protocol.fleet;

import java.time.Duration;
import java.util.random.RandomGenerator;

/**
 * How long to wait before the next try: doubling from the shortest to the longest pause, each drawn from the upper half
 * of its range, so that a fleet that lost its router does not come back as one crowd. Not safe for several threads.
 */
public final class Backoff {

    private final Duration shortest;
    private final Duration longest;
    private final RandomGenerator random;
    private Duration next;

    public Backoff(Duration shortest, Duration longest, RandomGenerator random) {
        this.shortest = shortest;
        this.longest = longest;
        this.random = random;
        this.next = shortest;
    }

    /** For two ends of this fleet on one network: 100 ms to 2 s. */
    public static Backoff ofLink(RandomGenerator random) {
        return new Backoff(Duration.ofMillis(100), Duration.ofSeconds(2), random);
    }

    /** The pause after one more failure. */
    public Duration next() {
        Duration full = next;
        Duration doubled = full.multipliedBy(2);
        next = doubled.compareTo(longest) < 0 ? doubled : longest;
        return full.minusNanos(random.nextLong(full.toNanos() / 2 + 1));
    }

    /** After a success, or a long time without failure. */
    public void reset() {
        next = shortest;
    }
}
