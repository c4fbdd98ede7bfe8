package dev.warmpath.router.dispatch;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.router.decisions.Decision;
import dev.warmpath.router.dispatch.DispatchFailure.InvalidAnswer;
import dev.warmpath.router.dispatch.DispatchFailure.NoWorker;
import dev.warmpath.router.dispatch.DispatchFailure.Refused;
import dev.warmpath.router.dispatch.DispatchFailure.RouterStopping;
import dev.warmpath.router.dispatch.DispatchFailure.WorkerLost;
import dev.warmpath.router.dispatch.DispatchFailure.WorkerSilent;
import dev.warmpath.router.fleet.HoldWatch;
import dev.warmpath.router.health.WorkerHealth;
import dev.warmpath.router.routing.RouteResult.Placed;
import dev.warmpath.router.tracing.AttemptTrace;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Tells a worker's health, the record of the decision and the trace how one attempt there goes: how soon tokens come,
 * what it found in its cache, how it ends. A failure without a token may be the request's own doing; it stays a
 * suspicion until somebody {@link #decide decides}. What a worker takes while it is stepped by hand counts for nothing.
 */
final class AttemptWatch {

    /** Tokens of one measurement: a step's burst, or a pause of the client, is spread over them. */
    private static final int TOKENS_PER_MEASUREMENT = 16;
    /** A client that leaves after so much silence tells nothing: neither that the worker was well, nor that it hung. */
    private static final long LONGEST_PAUSE_NANOS = 2_000_000_000L;

    private static final String ROUTER_FAULT = "router_fault";

    private final WorkerHealth health;
    /** Since it was asked, and from the first token on, since the last measurement. */
    private final HoldWatch hold;
    private final long workTokens;
    private final int promisedTokens;
    private final Decision decision;
    private final AttemptTrace trace;
    private final LongSupplier nanoTime;
    private final AtomicBoolean ended = new AtomicBoolean();
    private long startedNanos;
    private volatile long lastTokenNanos;
    private volatile boolean hasToken;
    private long measuredSinceNanos;
    private int measuredTokens;
    private boolean hasUsage;
    private int completionTokens;
    private boolean decided;
    private @Nullable String suspicion;

    AttemptWatch(Placed placed, Decision decision, AttemptTrace trace, LongSupplier nanoTime) {
        this.decision = decision;
        this.trace = trace;
        this.health = placed.worker().health();
        this.hold = new HoldWatch(placed.worker());
        this.workTokens = placed.decision().workTokens();
        this.promisedTokens = placed.decision().chosen().candidate().promisedBlocks() * placed.worker().blockSize();
        this.nanoTime = nanoTime;
    }

    /** The worker is asked now. */
    void begin() {
        hold.restart();
        startedNanos = nanoTime.getAsLong();
    }

    void see(DispatchEvent event) {
        if (event instanceof DispatchEvent.Tokens tokens) {
            long now = nanoTime.getAsLong();
            if (!hasToken) {
                hasToken = true;
                if (hold.wasHeld()) {
                    health.untimedTokens();
                    decision.held();
                } else {
                    health.firstToken(workTokens, now - startedNanos);
                }
                decision.firstToken();
                trace.firstToken();
                measureFrom(now);
            } else if (tokens.choice() == 0) {                     // others are drawn in the same steps
                measuredTokens += tokens.ids().length;
            }
            lastTokenNanos = now;
            decision.drew(tokens.ids().length);
            if (measuredTokens >= TOKENS_PER_MEASUREMENT) {
                if (hold.wasHeld()) {
                    health.untimedTokens();
                } else {
                    health.tokens((now - measuredSinceNanos) / measuredTokens);
                }
                measureFrom(now);
            }
        } else if (event instanceof DispatchEvent.Finished finished) {
            boolean isFirst = !hasUsage;
            hasUsage = true;
            completionTokens += finished.usage().completionTokens();
            decision.usage(finished.usage().cachedTokens(), completionTokens);
            if (isFirst) {
                trace.usage(finished.usage().cachedTokens());
                if (promisedTokens > 0) {
                    health.found(promisedTokens, finished.usage().cachedTokens());
                }
            }
        }
    }

    private void measureFrom(long nowNanos) {
        measuredSinceNanos = nowNanos;
        measuredTokens = 0;
        hold.restart();
    }

    void answered() {
        if (isFirstEnd()) {
            tellAnswered();
        }
    }

    void failed(Throwable error) {
        if (isFirstEnd()) {
            tellFailed(error);
        }
    }

    /** Nobody waits for it any more. */
    void left() {
        if (isFirstEnd()) {
            tellLeft();
        }
    }

    private boolean isFirstEnd() {
        return ended.compareAndSet(false, true);
    }

    private void tellAnswered() {
        decision.answered();
        trace.ended(null);
        health.answered(startedNanos, nanoTime.getAsLong());
    }

    private void tellFailed(Throwable error) {
        if (error instanceof DispatchException known) {
            tellFailed(known.failure());
        } else {                                                   // a fault of this router
            decision.failed(ROUTER_FAULT);
            trace.ended(ROUTER_FAULT);
            health.undecided(startedNanos);
        }
    }

    private void tellFailed(DispatchFailure failure) {
        decision.failed(failure.cause());
        trace.ended(failure.cause());
        long now = nanoTime.getAsLong();
        if (failure instanceof Refused refused && refused.reason() == FailureReason.QUEUE_FULL) {
            health.refused(startedNanos, now);
        } else if (failure instanceof Refused refused && refused.reason() == FailureReason.UNUSABLE_LOGITS) {
            health.unusable(failure.cause(), startedNanos, now);
        } else if (!isWorkersFault(failure)) {
            health.undecided(startedNanos);
        } else if (hasToken) {
            health.failed(failure.cause(), startedNanos, now);
        } else {
            suspect(failure.cause());
        }
    }

    private static boolean isWorkersFault(DispatchFailure failure) {
        return switch (failure) {
            case NoWorker _, RouterStopping _ -> false;
            case WorkerLost _, WorkerSilent _, InvalidAnswer _ -> true;
            case Refused refused -> switch (refused.reason()) {
                case INVALID_REQUEST, UNSUPPORTED, QUEUE_FULL, DEADLINE_EXCEEDED, UNUSABLE_LOGITS,
                        RULES_LEAVE_NOTHING -> false;
                // of the first two, one worker has no more than a moment's worth before it is replaced or removed
                case WRONG_EPOCH, SHUTTING_DOWN, ENGINE_FAILURE -> true;
            };
        };
    }

    private void tellLeft() {
        decision.left();
        trace.ended(null);
        long now = nanoTime.getAsLong();
        if (hasToken && now - lastTokenNanos < LONGEST_PAUSE_NANOS) {
            health.answered(startedNanos, now);
        } else {
            health.undecided(startedNanos);
        }
    }

    private synchronized void suspect(String cause) {
        if (decided) {                                             // the client has left meanwhile
            health.undecided(startedNanos);
        } else {
            suspicion = cause;
            health.suspect();
        }
    }

    synchronized boolean isSuspected() {
        return suspicion != null;
    }

    /** Ends the suspicion, if there is one: it was the worker, or it may have been the request. No more come. */
    synchronized void decide(boolean workersFault) {
        decided = true;
        if (suspicion != null) {
            health.unsuspect();
            if (workersFault) {
                health.failed(suspicion, startedNanos, nanoTime.getAsLong());
            } else {
                health.undecided(startedNanos);
            }
            suspicion = null;
        }
    }
}
