package dev.warmpath.router.keys;

import io.github.bucket4j.Bucket;
import io.github.bucket4j.ConsumptionProbe;
import io.github.bucket4j.TimeMeter;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * So much a minute: a bucket that holds a minute's worth, begins full, and fills evenly. What nobody could refuse is
 * taken all the same, and leaves a debt that has to be paid back first. Exact under any number of threads.
 */
public final class RateLimit {

    private static final long MINUTE_NANOS = TimeUnit.MINUTES.toNanos(1);

    private final int perMinute;
    private final Bucket bucket;

    RateLimit(int perMinute, TimeMeter time) {
        this.perMinute = perMinute;
        this.bucket = Bucket.builder().withCustomTimePrecision(time)
                .addLimit(limit -> limit.capacity(perMinute).refillGreedy(perMinute, Duration.ofMinutes(1)))
                .build();
    }

    public int perMinute() {
        return perMinute;
    }

    /** What can be taken now. */
    public int left() {
        return (int) Math.max(0, bucket.getAvailableTokens());
    }

    /** Until all of it can be taken again, if nobody takes anything. */
    public long nanosUntilFull() {
        return (long) ((double) (perMinute - bucket.getAvailableTokens()) / perMinute * MINUTE_NANOS);
    }

    /** @param amount at most a minute's worth. @return 0 if it is taken, else nanoseconds until it can be */
    long take(int amount) {
        ConsumptionProbe probe = bucket.tryConsumeAndReturnRemaining(amount);
        return probe.isConsumed() ? 0 : Math.max(1, probe.getNanosToWaitForRefill());
    }

    /** @return 0 if something can be taken, else nanoseconds until it can be */
    long nanosUntilSome() {
        return bucket.estimateAbilityToConsume(1).getNanosToWaitForRefill();
    }

    void takeInAnyCase(int amount) {
        if (amount > 0) {
            bucket.consumeIgnoringRateLimits(amount);
        }
    }

    void giveBack(int amount) {
        bucket.addTokens(amount);
    }
}
