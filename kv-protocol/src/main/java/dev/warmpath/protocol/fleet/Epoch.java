package dev.warmpath.protocol.fleet;

import java.util.random.RandomGenerator;

/**
 * Names one life of a worker process: start time in milliseconds in the upper 48 bits, chance in the lower 16. Of two
 * processes that claim one worker id, the one with the greater epoch started later.
 */
public final class Epoch {

    private static final int RANDOM_BITS = 16;

    private Epoch() {}

    public static long of(long startMillis, RandomGenerator random) {
        return startMillis << RANDOM_BITS | random.nextInt(1 << RANDOM_BITS);
    }
}
