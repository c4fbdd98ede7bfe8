package dev.warmpath.router.fleetlink;

import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.fleet.Backoff;
import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.router.fleet.EventSource;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleetlink.LinkAction.News;
import dev.warmpath.router.fleetlink.LinkAction.Step;
import dev.warmpath.router.fleetlink.log.LogInbox;
import dev.warmpath.router.fleetlink.log.LogState;
import dev.warmpath.router.fleetlink.stream.StreamSignal;
import dev.warmpath.router.metrics.RouterMetrics.ReloadSource;
import dev.warmpath.router.prefix.KvEventApplier;
import dev.warmpath.router.prefix.SyncState;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The rules by which the index is kept in step with one worker: what has happened goes in, what is to be done next
 * comes out. Knows no clock, no thread, no network: it looks at what the fleet knows of the worker and at what waits in
 * the log's inbox, where it drops what the copy has already. {@link WorkerLink} does what it says.
 *
 * <pre>
 *               a gap, drift, no checkpoint          the snapshot is in, or none came
 *            ┌──────────────────────────────▶ HEAL ──────────────────────────────────┐
 *   begin ─▶ LOG ◀───────────────────────────────────────────────────────────────────┘
 *            │ ▲
 *            │ └── the log has this worker's batches, next to those known, or a checkpoint for an empty copy
 *            ▼
 *          STREAM    Redis is silent, or batches that the worker has sent do not come
 * </pre>
 *
 * <p><b>By the log</b> in Redis, while it is read. What the log cannot heal (no checkpoint, a gap, drift) is healed by
 * one snapshot from the worker itself; meanwhile the inbox fills, and what the snapshot contains is skipped.
 *
 * <p><b>By the worker's own stream</b>, while Redis is away, not configured, or does not carry this worker's batches (a
 * worker cut off from Redis). A worker that was asked a while ago is asked again at once, otherwise after growing
 * pauses until its lease ends: a snapshot that is contradicted as soon as it has come must not become a loop of
 * snapshots. One stream after the other that breaks or falls silent within seconds is told, until one has lasted.
 */
final class Follower {

    /** The heartbeat is looked at this often, batches or not. */
    static final Duration TURN = Duration.ofMillis(250);
    /** A turn while there is no copy yet. */
    private static final Duration SHORT_TURN = Duration.ofMillis(10);
    /** A log that is behind the worker's own stream by more is not preferred to it. */
    private static final Duration MOMENT = Duration.ofMillis(500);
    private static final Duration HEARTBEAT_MISSED = Duration.ofSeconds(2);
    /** A heartbeat overtakes the batches by less than this, however busy both ends are. */
    private static final Duration LONGEST_LAG = Duration.ofSeconds(2);
    /** Longer than the heartbeat takes to contradict a copy. */
    private static final Duration GOOD_WHILE = Duration.ofSeconds(5);
    /** Streams in a row that did not last. */
    private static final int TOO_MANY = 3;

    private static final LinkAction READ_STREAM = new LinkAction.ReadStream();

    private final FleetWorker worker;
    private final LogInbox inbox;
    private final Backoff backoff;
    private final List<News> news = new ArrayList<>();
    private LogState log = LogState.LOST;
    private long now;
    private Road road = Road.LOG;
    private @Nullable EventSource told;
    private @Nullable Heartbeat heard;
    private long heardNanos;
    private long recentSequence = KvEventApplier.NO_SEQUENCE;
    private long recentNanos;
    private long driftSequence = KvEventApplier.NO_SEQUENCE;
    private boolean asked;
    private long askedNanos;
    private int broken;

    /** Where batches come from now, and with them a snapshot. */
    private enum Road {
        LOG(ReloadSource.CHECKPOINT),
        /** The log, while the worker itself is asked for one snapshot. */
        HEAL(ReloadSource.WORKER),
        STREAM(ReloadSource.STREAM);

        private final ReloadSource source;

        Road(ReloadSource source) {
            this.source = source;
        }
    }

    /** How the copy stands to the worker's last heartbeat (F17). */
    private enum Copy {
        /** In step, ahead of the heartbeat, or behind it for a moment. */
        SOUND,
        /** Batches that the worker has sent are overdue. */
        LATE,
        /** Empty, or not what the worker says it is: a snapshot is needed. */
        UNSOUND
    }

    /** @param backoff between attempts to read the worker's own stream */
    Follower(FleetWorker worker, LogInbox inbox, Backoff backoff) {
        this.worker = worker;
        this.inbox = inbox;
        this.backoff = backoff;
    }

    /**
     * What to do about it.
     *
     * @param event    what came of the action before, or {@link LinkEvent.Begun}
     * @param log      how the log is read at present
     * @param nowNanos on the fleet's monotonic clock
     */
    Step next(LinkEvent event, LogState log, long nowNanos) {
        this.log = log;
        this.now = nowNanos;
        news.clear();
        LinkAction action = switch (event) {
            case LinkEvent.Begun() -> logIsRead() ? takeLog() : takeStream(null);
            case LinkEvent.LogTurn(var batch) -> logTurn(batch);
            case LinkEvent.Paused() -> logIsRead() ? readLog() : takeStream(null);
            case LinkEvent.StreamOpened() -> {
                asked = true;
                askedNanos = now;
                yield READ_STREAM;
            }
            case LinkEvent.StreamRead(StreamSignal.Frame(var batch)) -> frame(batch);
            case LinkEvent.StreamRead(StreamSignal.Ended(var reason, var why)) -> streamEnded(reason, why);
            case LinkEvent.Applied() -> road == Road.LOG ? afterTurn() : afterFrame();
        };
        return new Step(List.copyOf(news), action);
    }

    // ---- by the log

    private LinkAction takeLog() {
        heardNanos = now;
        return readLog();
    }

    private LinkAction readLog() {
        road = Road.LOG;
        return new LinkAction.ReadLog(isEmpty() ? SHORT_TURN : TURN);
    }

    private LinkAction logTurn(@Nullable KvEventBatch batch) {
        if (batch != null || log == LogState.FRESH) {
            tellRoad(EventSource.LOG, null);                       // not while it is only hoped for
        }
        return batch != null && isOfUse(batch) ? new LinkAction.Apply(batch, road.source) : afterTurn();
    }

    private LinkAction afterTurn() {
        Copy copy = copy();
        if (copy == Copy.SOUND) {
            forgive();                                             // the stream is not needed while the log goes on
        }
        if (copy == Copy.UNSOUND && log == LogState.FRESH) {
            road = Road.HEAL;
            return openStream();
        }
        if (copy == Copy.LATE && log == LogState.FRESH) {
            inbox.distrust();
            return takeStream("its batches do not come through Redis");
        }
        return endTurn();
    }

    /** Looks twice: after a pause of the whole process the log's reader, too, has to come to its turn first. */
    private LinkAction endTurn() {
        askIfSilent();
        return logIsRead() ? readLog() : new LinkAction.Pause(TURN);
    }

    /** No connection's end tells that a worker has died, while its batches come from Redis. */
    private void askIfSilent() {
        Heartbeat latest = worker.heartbeat();
        if (latest != heard) {
            heard = latest;
            heardNanos = now;
        } else if (now - heardNanos > HEARTBEAT_MISSED.toNanos()) {
            heardNanos = now;
            news.add(new News.Silent(HEARTBEAT_MISSED));
        }
    }

    private boolean logIsRead() {
        return log != LogState.LOST;
    }

    // ---- by the worker's own stream

    private LinkAction takeStream(@Nullable String why) {
        road = Road.STREAM;
        tellRoad(EventSource.DIRECT, why);
        return openStream();
    }

    private LinkAction openStream() {
        if (asked && now - askedNanos < GOOD_WHILE.toNanos()) {
            return new LinkAction.OpenStream(backoff.next());
        }
        backoff.reset();
        return new LinkAction.OpenStream(Duration.ZERO);
    }

    private LinkAction frame(@Nullable KvEventBatch batch) {
        if (now - askedNanos >= GOOD_WHILE.toNanos()) {
            forgive();
        }
        return batch != null && isOfUse(batch) ? new LinkAction.Apply(batch, road.source) : afterFrame();
    }

    private LinkAction afterFrame() {
        Copy copy = copy();
        if (copy != Copy.SOUND) {
            return streamEnded(StreamSignal.Reason.BROKEN, "the copy is " + copy);
        }
        if (road == Road.STREAM && !logTakesOver()) {
            return READ_STREAM;
        }
        forgive();
        return road == Road.HEAL ? endTurn() : takeLog();
    }

    private LinkAction streamEnded(StreamSignal.Reason reason, String why) {
        switch (reason) {
            case GONE -> news.add(new News.Gone(why));
            case UNREADABLE -> news.add(new News.Unreadable("its events cannot be read: " + why));
            case BROKEN -> countBroken(why);
        }
        news.add(new News.StreamEnded(road.source, why));
        if (road == Road.HEAL) {
            return endTurn();
        }
        if (!logTakesOver()) {
            return openStream();
        }
        forgive();                                                 // the log does without it
        return takeLog();
    }

    private void countBroken(String why) {
        broken = Math.min(TOO_MANY, broken + 1);
        if (broken == TOO_MANY) {
            news.add(new News.StreamProblem("its event stream does not last: " + why));
        }
    }

    /** What its streams did so far is told no longer. */
    private void forgive() {
        if (broken > 0) {
            broken = 0;
            news.add(new News.StreamProblem(null));
        }
    }

    private boolean logTakesOver() {
        if (log != LogState.FRESH) {
            return false;
        }
        return isEmpty() ? inbox.offersCheckpoint() : inbox.continues(sequence(), recentSequence());
    }

    private long recentSequence() {
        if (now - recentNanos > MOMENT.toNanos() || recentSequence == KvEventApplier.NO_SEQUENCE) {
            recentNanos = now;
            recentSequence = sequence();
        }
        return recentSequence;
    }

    // ---- the copy

    private boolean isEmpty() {
        return sequence() == KvEventApplier.NO_SEQUENCE;
    }

    /** Of the last batch inside. */
    private long sequence() {
        return worker.events().position().sequence();
    }

    /** Changes are for a copy that exists, a checkpoint for one that does not. */
    private boolean isOfUse(KvEventBatch batch) {
        return batch.snapshot() ? road != Road.LOG || isEmpty() : !isEmpty();
    }

    private Copy copy() {
        if (isEmpty()) {
            return Copy.UNSOUND;
        }
        return switch (worker.syncState()) {
            case SyncState.InStep() -> Copy.SOUND;
            case SyncState.Behind _ ->
                    worker.outOfStepNanos(now) > LONGEST_LAG.toNanos() ? Copy.LATE : Copy.SOUND;
            case SyncState.Drift drift -> {
                tellOnce(drift);
                yield Copy.UNSOUND;
            }
        };
    }

    /** The copy stays as it is until a snapshot comes, and is looked at meanwhile. */
    private void tellOnce(SyncState.Drift drift) {
        if (drift.sequence() != driftSequence) {
            driftSequence = drift.sequence();
            news.add(new News.Drifted(drift));
        }
    }

    private void tellRoad(EventSource source, @Nullable String why) {
        if (told != source) {
            told = source;
            news.add(new News.Followed(source, why));
        }
    }
}
