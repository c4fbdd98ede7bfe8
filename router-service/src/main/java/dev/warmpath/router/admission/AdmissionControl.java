package dev.warmpath.router.admission;

import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.metrics.RouterMeter;
import dev.warmpath.router.metrics.RouterMetrics;
import dev.warmpath.router.metrics.RouterMetrics.Limit;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.stereotype.Component;

/**
 * The door: a request gets a place before a byte of its body is read, if there is memory for that body, and one too
 * many of either is refused at once. Memory is held for what has come of a body: who sends slowly keeps no more from
 * others. Unless it is set, the number of places follows from the fleet: {@value #PER_SEQUENCE} times what the ready
 * workers compute at the same time, {@value #AT_LEAST} at least.
 *
 * <p>Large bodies together take three quarters of the memory at most, so that they never shut out small ones.
 */
@Component
public final class AdmissionControl {

    /** A body that takes more than this part of the budget is a large one. */
    private static final int LARGE_PART = 64;
    /** One is computed; the others are read, tokenized or wait. */
    private static final int PER_SEQUENCE = 4;
    private static final int AT_LEAST = 512;

    private final IntSupplier maxInFlight;
    private final long budgetBytes;
    private final RouterMetrics metrics;
    private final LongSupplier nanoTime;
    /** In the order of their coming. */
    private final Set<Place> places = new LinkedHashSet<>();
    private long heldBytes;

    @Autowired
    AdmissionControl(AdmissionProperties properties, Fleet fleet, RouterMetrics metrics) {
        this(() -> properties.maxInFlight() > 0 ? properties.maxInFlight() : capacity(fleet),
                (long) (Runtime.getRuntime().maxMemory() * properties.bodyHeapShare()), metrics, System::nanoTime);
    }

    /**
     * @param maxInFlight asked for each request
     * @param budgetBytes heap that the bodies of all requests in flight may take together
     * @param nanoTime    a monotonic clock, as {@link System#nanoTime}
     */
    public AdmissionControl(
            IntSupplier maxInFlight, long budgetBytes, RouterMetrics metrics, LongSupplier nanoTime) {
        this.maxInFlight = maxInFlight;
        this.budgetBytes = budgetBytes;
        this.metrics = metrics;
        this.nanoTime = nanoTime;
        metrics.watch(RouterMeter.REQUESTS_IN_FLIGHT, this::inFlight);
        metrics.watch(RouterMeter.BODY_BYTES, this::heldBytes);
        metrics.watch(RouterMeter.OLDEST_REQUEST_AGE, () -> (double) oldestNanos() / TimeUnit.SECONDS.toNanos(1));
    }

    /**
     * Takes a place, to be given back by closing the permit.
     *
     * @param bytes heap that reading the request's body will take, as far as that is known. There must be room for it
     *              now, so that nobody sends in vain; it is held as the body comes, see {@link Permit#hold}
     * @throws OverloadedException if all places are taken, or too much of the memory
     */
    public Permit enter(long bytes) {
        int limit = maxInFlight.getAsInt();                        // may end leases, and write that to a log that blocks
        return enter(limit, bytes);
    }

    private synchronized Permit enter(int limit, long bytes) {
        if (places.size() >= limit) {
            metrics.refusedAtTheDoor(Limit.PLACES);
            throw new OverloadedException(limit + " requests are in flight, which is this router's limit");
        }
        refuseIfTooMuch(0, bytes);
        var place = new Place(nanoTime.getAsLong());
        places.add(place);
        return new Permit(place);
    }

    private static int capacity(Fleet fleet) {
        return Math.clamp(PER_SEQUENCE * fleet.sequences(), AT_LEAST, Integer.MAX_VALUE);
    }

    /** Places that are taken. */
    public synchronized int inFlight() {
        return places.size();
    }

    /** Since the oldest of them was taken; 0 if none is. */
    synchronized long oldestNanos() {
        return places.isEmpty() ? 0 : nanoTime.getAsLong() - places.iterator().next().sinceNanos;
    }

    /** Heap that the bodies in flight take. */
    public synchronized long heldBytes() {
        return heldBytes;
    }

    /** What a single request may take in an idle router. */
    public long largestBytes() {
        return budgetBytes / 4 * 3;
    }

    private void refuseIfTooMuch(long held, long wanted) {
        long limit = wanted > budgetBytes / LARGE_PART ? largestBytes() : budgetBytes;
        if (wanted > held && heldBytes - held + wanted > limit) {
            metrics.refusedAtTheDoor(Limit.BYTES);
            throw new OverloadedException("the bodies of requests in flight take " + heldBytes + " of " + limit
                    + " bytes, this one needs " + (wanted - held) + " more");
        }
    }

    /** What a request has taken, until its last permit is closed. */
    private static final class Place {
        private final long sinceNanos;
        private long bytes;
        private int permits = 1;

        Place(long sinceNanos) {
            this.sinceNanos = sinceNanos;
        }
    }

    /**
     * A place among those in flight, and its share of the memory. A computation for the request has a permit of its own
     * ({@link #share}), so that a client who leaves does not make room that is still in use.
     */
    public final class Permit implements AutoCloseable {

        private final Place place;
        private boolean closed;

        private Permit(Place place) {
            this.place = place;
        }

        /** When the place was taken, on the clock of {@link System#nanoTime}: the request's arrival. */
        public long sinceNanos() {
            return place.sinceNanos;
        }

        /** One more permit for the same place; null if it was given back, so that nobody waits for what comes. */
        public @Nullable Permit share() {
            synchronized (AdmissionControl.this) {
                if (place.permits == 0) {
                    return null;
                }
                place.permits++;
                return new Permit(place);
            }
        }

        /**
         * Takes or gives back memory.
         *
         * @param bytes heap that the body takes from now on
         * @throws OverloadedException if there is not so much; what was held is held
         */
        public void hold(long bytes) {
            synchronized (AdmissionControl.this) {
                if (place.permits > 0) {
                    refuseIfTooMuch(place.bytes, bytes);
                    heldBytes += bytes - place.bytes;
                    place.bytes = bytes;
                }
            }
        }

        /**
         * Takes memory besides what is held.
         *
         * @param bytes heap that an answer takes
         * @throws OverloadedException if there is not so much; what was held is held
         */
        public void holdMore(long bytes) {
            synchronized (AdmissionControl.this) {
                hold(place.bytes + bytes);
            }
        }

        /**
         * The same for what is there already, an answer that a worker has given: what comes later is refused for it.
         *
         * @param bytes heap that it takes, whether there is so much or not
         */
        public void holdMoreInAnyCase(long bytes) {
            synchronized (AdmissionControl.this) {
                if (place.permits > 0) {
                    heldBytes += bytes;
                    place.bytes += bytes;
                }
            }
        }

        /** Closing it again has no effect. */
        @Override
        public void close() {
            synchronized (AdmissionControl.this) {
                if (!closed) {
                    closed = true;
                    if (--place.permits == 0) {
                        places.remove(place);
                        heldBytes -= place.bytes;
                    }
                }
            }
        }
    }
}
