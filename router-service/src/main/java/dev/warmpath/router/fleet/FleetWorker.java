package dev.warmpath.router.fleet;

import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.protocol.fleet.ModelDescription;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.router.prefix.KvEventApplier;
import dev.warmpath.router.prefix.WorkerKeys;
import java.net.URI;
import org.jspecify.annotations.Nullable;

/**
 * One life of one worker, as registered here. A restarted worker is another object. Compared by identity; read by any
 * thread, changed by {@link Fleet} only.
 */
public final class FleetWorker {

    private final Registration registration;
    private final WorkerKeys keys;
    private final KvEventApplier events;
    private volatile @Nullable Heartbeat heartbeat;
    private volatile long leaseEndNanos;
    private volatile @Nullable String eventProblem;
    private volatile boolean indexed;
    private volatile boolean gone;

    FleetWorker(Registration registration, WorkerKeys keys, KvEventApplier events, long leaseEndNanos) {
        this.registration = registration;
        this.keys = keys;
        this.events = events;
        this.leaseEndNanos = leaseEndNanos;
    }

    public String id() {
        return registration.workerId();
    }

    public long epoch() {
        return registration.epoch();
    }

    public URI baseUrl() {
        return registration.baseUrl();
    }

    public ModelDescription model() {
        return registration.model();
    }

    /** The only workers that a request of this revision may go to are those that share it. */
    public String revision() {
        return registration.model().revision();
    }

    public int blockSize() {
        return registration.model().parts().blockSize();
    }

    public int blockCount() {
        return registration.blockCount();
    }

    public int maxSequences() {
        return registration.maxSequences();
    }

    Registration registration() {
        return registration;
    }

    /** What it announces, in the prefix index. */
    public WorkerKeys keys() {
        return keys;
    }

    /** Where its event batches go. One thread only, its follower. */
    public KvEventApplier events() {
        return events;
    }

    /** The last one, or null before the first. */
    public @Nullable Heartbeat heartbeat() {
        return heartbeat;
    }

    /** Why its events do not come, or null. */
    @Nullable String eventProblem() {
        return eventProblem;
    }

    /** True from its first snapshot on: what it holds is known. */
    public boolean isIndexed() {
        return indexed;
    }

    /** True once it has been removed from the fleet; it never comes back. */
    public boolean isGone() {
        return gone;
    }

    /** When its lease ends, on the fleet's monotonic clock. */
    long leaseEndNanos() {
        return leaseEndNanos;
    }

    void extendLease(long endNanos) {
        leaseEndNanos = endNanos;
    }

    void heard(Heartbeat latest) {
        heartbeat = latest;
    }

    void setEventProblem(@Nullable String problem) {
        eventProblem = problem;
    }

    void markIndexed() {
        indexed = true;
    }

    void markGone() {
        gone = true;
    }

    @Override
    public String toString() {
        return id() + " (epoch " + epoch() + ", " + baseUrl() + ")";
    }
}
