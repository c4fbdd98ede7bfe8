package dev.warmpath.router.fleet;

import dev.warmpath.protocol.fleet.Ability;
import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.protocol.fleet.ModelDescription;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.protocol.fleet.StepCost;
import dev.warmpath.router.fleet.WorkerView.State;
import dev.warmpath.router.health.WorkerHealth;
import dev.warmpath.router.prefix.KvEventApplier;
import dev.warmpath.router.prefix.SyncState;
import dev.warmpath.router.prefix.WorkerKeys;
import java.net.URI;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * One life of one worker, as registered here. A restarted worker is another object. Compared by identity; read by any
 * thread, changed by {@link Fleet} only, except for what its follower says about the copy. How far to rely on that is
 * not said by the follower, who may be dead, but found in the heartbeats.
 */
public final class FleetWorker {

    private final Registration registration;
    private final Set<Ability> abilities;
    private final WorkerKeys keys;
    private final KvEventApplier events;
    private final WorkerHealth health;
    private volatile @Nullable Heard heard;
    /** That of {@link #heard}, for decisions, which ask every worker. */
    private volatile @Nullable Heartbeat latest;
    private final AtomicLong leaseEndNanos;
    private volatile @Nullable String eventProblem;
    private volatile @Nullable String logProblem;
    private volatile @Nullable String streamProblem;
    private volatile boolean indexed;
    private volatile @Nullable StepCost stepCost;
    private volatile long heldHeartbeats;
    private volatile boolean saysItDrains;
    private volatile boolean drainedByOperator;
    private volatile boolean gone;
    /** 0: none; 1: one is under way; 2: and one more is to follow. */
    private final AtomicInteger probesAsked = new AtomicInteger();
    private volatile EventSource eventSource = EventSource.DIRECT;

    /**
     * The last heartbeat, and the one that the copy is measured by: the last of those that came when the copy had
     * reached the one before. Heartbeats may come faster than batches, so that a copy that is never late might never
     * have reached the last one.
     *
     * @param latestNanos when the last one came
     * @param measureNanos when the other one came, or was begun to be waited for
     */
    private record Heard(Heartbeat latest, long latestNanos, Heartbeat measure, long measureNanos) {}

    FleetWorker(Registration registration, WorkerKeys keys, KvEventApplier events, WorkerHealth health,
            long leaseEndNanos) {
        this.registration = registration;
        this.abilities = Ability.known(registration.abilities());
        this.keys = keys;
        this.events = events;
        this.health = health;
        this.leaseEndNanos = new AtomicLong(leaseEndNanos);
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

    /** What this router's attempts have shown of this life; another life begins with a clean sheet. */
    public WorkerHealth health() {
        return health;
    }

    /** Where its event batches go. One thread only, its follower. */
    public KvEventApplier events() {
        return events;
    }

    /**
     * A snapshot has come: what the copy lacks counts from now on, the time of waiting for it is no lag.
     *
     * @param nowNanos on the fleet's monotonic clock
     */
    public synchronized void markLoaded(long nowNanos) {
        Heard last = heard;
        heard = last == null ? null : new Heard(last.latest(), nowNanos, last.latest(), nowNanos);
    }

    /** Said by the follower only. */
    public void markFollowedBy(EventSource source) {
        eventSource = source;
    }

    /** Which way its batches come now. */
    public EventSource eventSource() {
        return eventSource;
    }

    /**
     * How far the copy is behind what the worker says in its heartbeats. Found by comparing: whoever keeps the copy
     * need not be alive to say so.
     */
    public IndexAge indexAge(long nowNanos) {
        Heard last = heard;
        if (last == null) {
            return IndexAge.IN_STEP;
        }
        long batches = lacks(last.latest());
        return batches == 0 ? IndexAge.IN_STEP : new IndexAge(batches,
                Math.max(0, nowNanos - (lacks(last.measure()) == 0 ? last.latestNanos() : last.measureNanos())));
    }

    /** How long the copy has been behind the worker, or at odds with it; 0 while it is in step. */
    public long outOfStepNanos(long nowNanos) {
        return indexAge(nowNanos).nanos();
    }

    /** How far to rely on the copy. */
    public IndexGrade indexGrade(long nowNanos) {
        return gradeOf(indexAge(nowNanos));
    }

    /** How far to rely on a copy of so much behind. */
    public IndexGrade gradeOf(IndexAge age) {
        return IndexGrade.of(age.nanos(), registration.assumed());
    }

    /** Batches that the copy lacks, as far as heartbeats tell, 1 if it is at odds with them; 0 while it is in step. */
    public long behindBatches() {
        Heard last = heard;
        return last == null ? 0 : lacks(last.latest());
    }

    private long lacks(Heartbeat told) {
        return switch (syncState(told)) {
            case SyncState.InStep() -> 0;
            case SyncState.Behind(long batches) -> batches;
            case SyncState.Drift _ -> 1;
        };
    }

    private SyncState syncState(Heartbeat told) {
        return events.compare(told.lastSequence(), told.setSize(), told.setDigest());
    }

    /** How the copy stands to the last heartbeat, which finds what batches cannot: that the last ones are missing. */
    public SyncState syncState() {
        Heard last = heard;
        return last == null ? new SyncState.InStep() : syncState(last.latest());
    }

    /** The last one, or null before the first. */
    public @Nullable Heartbeat heartbeat() {
        return latest;
    }

    /** What its steps take, as it has told last in this life; null as long as it has told nothing usable. */
    public @Nullable StepCost stepCost() {
        return stepCost;
    }

    /** Why its events do not come, or null. */
    @Nullable String eventProblem() {
        return eventProblem;
    }

    /** Whether it takes a {@link dev.warmpath.protocol.generate.PackedRequest}. */
    public boolean takesPackedPrompts() {
        return registration.packedPrompts();
    }

    /** Whether it can all of these; it would pass over others. */
    public boolean isAble(Set<Ability> needed) {
        return abilities.containsAll(needed);
    }

    /** Why its own event stream does not last, or null. Snapshots come all the same. */
    @Nullable String streamProblem() {
        return streamProblem;
    }

    /** Over how many streams in Redis it takes workers to be spread; 0 = it does not say. */
    public int eventStreams() {
        return registration.eventStreams();
    }

    /** Says why its batches are not looked for in Redis. They come directly. */
    public void isNotInLog(String why) {
        logProblem = why;
    }

    /** Why it is not followed by Redis though there is one, or null. */
    @Nullable String logProblem() {
        return logProblem;
    }

    /** Why it cannot be followed: its events do not come, or its own stream does not last; or null. */
    @Nullable String followingProblem() {
        String problem = eventProblem;
        return problem == null ? streamProblem : problem;
    }

    /** True from its first snapshot on: what it holds is known. */
    public boolean isIndexed() {
        return indexed;
    }

    /** True while it gets nothing new: it has said that it goes, or an operator wants it so. What it has goes on. */
    public boolean isDraining() {
        return saysItDrains || drainedByOperator;
    }

    /** True while it says that its device hangs: it gets nothing new. */
    public boolean isHanging() {
        Heard last = heard;
        return last != null && last.latest().hanging();
    }

    /** True while it says that it is held, to be stepped by hand: its silence is somebody's pause for thought. */
    public boolean isHeld() {
        Heartbeat last = heartbeat();
        return last != null && last.held();
    }

    /** Heartbeats that said so, in this life. */
    long heldHeartbeats() {
        return heldHeartbeats;
    }

    /** Whether it takes requests, as far as it is up to the worker: its model may still be missing here. */
    State state() {
        if (isDraining()) {
            return State.DRAINING;
        }
        if (isHanging()) {
            return State.HANGING;
        }
        return indexed ? State.READY : State.JOINING;
    }

    /** True once it has been removed from the fleet; it never comes back. */
    public boolean isGone() {
        return gone;
    }

    /** When its lease ends, on the fleet's {@link LeaseClock}. */
    long leaseEndNanos() {
        return leaseEndNanos.get();
    }

    /** Never shortens it: whoever was held up between looking at the clock and saying so says nothing new. */
    void extendLease(long endNanos) {
        leaseEndNanos.accumulateAndGet(endNanos, (end, other) -> other - end > 0 ? other : end);
    }

    /**
     * Said by the fleet for each heartbeat, in order.
     *
     * @param nowNanos on the fleet's monotonic clock
     */
    public synchronized void heard(Heartbeat told, long nowNanos) {
        Heard before = heard;
        boolean reached = before == null || lacks(before.measure()) == 0;
        heard = reached ? new Heard(told, nowNanos, told, nowNanos)
                : new Heard(told, nowNanos, before.measure(), before.measureNanos());
        StepCost cost = told.stepCost();
        stepCost = cost != null && cost.isUsable() ? cost : stepCost;
        latest = told;
        heldHeartbeats += told.held() ? 1 : 0;                     // last: who sees it has seen the heartbeat
        saysItDrains |= told.draining();                           // a late heartbeat of before does not take it back
    }

    void setDrainedByOperator(boolean drained) {
        drainedByOperator = drained;
    }

    /** @return true if nobody asks the worker's address yet: the caller is to do it */
    boolean askForProbe() {
        return probesAsked.getAndUpdate(asked -> Math.min(2, asked + 1)) == 0;
    }

    /** To be asked after each probe. @return true if one more is to follow; else it was the last */
    boolean probeIsAskedForAgain() {
        return probesAsked.decrementAndGet() > 0 && !gone;
    }

    void setEventProblem(@Nullable String problem) {
        eventProblem = problem;
    }

    void setStreamProblem(@Nullable String problem) {
        streamProblem = problem;
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
