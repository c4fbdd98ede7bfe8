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
 * thread, changed by {@link Fleet} only, except for what its follower says about the copy.
 */
public final class FleetWorker {

    private final Registration registration;
    private final WorkerKeys keys;
    private final KvEventApplier events;
    private volatile @Nullable Heartbeat heartbeat;
    private volatile long leaseEndNanos;
    private volatile @Nullable String eventProblem;
    private volatile boolean indexed;
    private volatile boolean saysItDrains;
    private volatile boolean drainedByOperator;
    private volatile boolean gone;
    private volatile Lag lag = Lag.NONE;
    private volatile EventSource eventSource = EventSource.DIRECT;

    /** @param batches how many are missing; 0 while the copy is in step, and then {@code sinceNanos} has no meaning */
    private record Lag(long batches, long sinceNanos) {
        static final Lag NONE = new Lag(0, 0);
    }

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

    /** The index's copy agrees with the worker's last heartbeat, or is ahead of it. Said by the follower only. */
    public void markInStep() {
        lag = Lag.NONE;
    }

    /**
     * The copy lacks batches that the worker has sent, or is empty and waits for a snapshot. Said by the follower only,
     * as often as it likes: the first time after {@link #markInStep} counts.
     *
     * @param nowNanos on the monotonic clock that {@link #outOfStepNanos} is asked with
     * @param batches  how many are missing, at least 1
     */
    public void markBehind(long nowNanos, long batches) {
        Lag before = lag;
        lag = new Lag(Math.max(1, batches), before.batches() == 0 ? nowNanos : before.sinceNanos());
    }

    /** Said by the follower only. */
    public void markFollowedBy(EventSource source) {
        eventSource = source;
    }

    /** Which way its batches come now. */
    public EventSource eventSource() {
        return eventSource;
    }

    /** How long the copy has been behind; 0 while it is in step. */
    public long outOfStepNanos(long nowNanos) {
        Lag now = lag;
        return now.batches() == 0 ? 0 : Math.max(0, nowNanos - now.sinceNanos());
    }

    /** How far to rely on the copy. */
    public IndexGrade indexGrade(long nowNanos) {
        return IndexGrade.of(outOfStepNanos(nowNanos));
    }

    /** Batches that the copy lacks, as far as heartbeats tell; 0 while it is in step. */
    public long behindBatches() {
        return lag.batches();
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

    /** True while it gets nothing new: it has said that it goes, or an operator wants it so. What it has goes on. */
    public boolean isDraining() {
        return saysItDrains || drainedByOperator;
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
        saysItDrains |= latest.draining();                         // a late heartbeat of before does not take it back
    }

    void setDrainedByOperator(boolean drained) {
        drainedByOperator = drained;
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
