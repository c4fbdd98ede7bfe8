package dev.warmpath.router.decisions;

import dev.warmpath.router.decisions.Decision.Subject;
import dev.warmpath.router.metrics.RouterMetrics;
import dev.warmpath.router.routing.RouteDecision.Routed;
import dev.warmpath.router.routing.TokenizedPrompt;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.stereotype.Component;

/**
 * The last decisions of this router, the oldest gives way. With {@code warmpath.decisions.file} each request is also
 * written down, with its decisions, once it has ended. Safe for use by several threads.
 */
@Component
public final class DecisionLog implements AutoCloseable {

    private final int keep;
    private final @Nullable DecisionFile file;
    private final boolean replay;
    private final RouterMetrics metrics;
    private final InstantSource clock;
    private final LongSupplier nanoTime;
    private final Deque<Decision> latest = new ArrayDeque<>();
    private final List<DecisionWatcher> watchers = new CopyOnWriteArrayList<>();

    @Autowired
    DecisionLog(DecisionProperties properties, RouterMetrics metrics) {
        this(properties.keep(), properties.file() == null ? null
                : new DecisionFile(properties.file(), properties.maxFileSize().toBytes(), metrics::decisionsDiscarded),
                properties.replay(), metrics, InstantSource.system(), System::nanoTime);
    }

    DecisionLog(int keep, @Nullable DecisionFile file, boolean replay, RouterMetrics metrics, InstantSource clock,
            LongSupplier nanoTime) {
        this.replay = replay && file != null;
        this.keep = keep;
        this.file = file;
        this.metrics = metrics;
        this.clock = clock;
        this.nanoTime = nanoTime;
    }

    /**
     * A request has come. Whoever answers it tells the record how it goes, and closes it.
     *
     * @param traceId of the trace that shows it; null if none does
     */
    public RequestRecord begin(RequestRecord.Asked asked, @Nullable String traceId) {
        return new RequestRecord(clock.instant(), asked, traceId, this::closed);
    }

    /** Tells it of every decision from now on. */
    public void watch(DecisionWatcher watcher) {
        watchers.add(watcher);
    }

    /**
     * The request is sent to a worker. Whoever sends it tells the decision how it goes.
     *
     * @param prompt read only during the call
     */
    public Decision decide(RequestRecord request, Subject subject, TokenizedPrompt prompt, Routed routed) {
        var decision = new Decision(clock.instant(), subject, routed, nanoTime, this::ended);
        request.add(decision);
        if (replay && request.promptKeys() == null) {
            request.prompt(keys(prompt));
        }
        synchronized (latest) {
            if (latest.size() == keep) {
                latest.removeFirst();
            }
            latest.addLast(decision);
        }
        watchers.forEach(each -> each.decided(decision, prompt));
        return decision;
    }

    private static long[] keys(TokenizedPrompt prompt) {
        long[] keys = new long[prompt.chain().blockCount()];
        for (int i = 0; i < keys.length; i++) {
            keys[i] = prompt.chain().key(i);
        }
        return keys;
    }

    private void ended(Decision decision) {
        metrics.attemptEnded(decision.routed().workerId(), decision.end());
        Long firstTokenNanos = decision.firstTokenNanos();
        long predictedNanos = decision.routed().predictedFirstTokenNanos();
        if (firstTokenNanos != null && predictedNanos >= 0 && !decision.wasHeld()) {
            metrics.model(decision.subject().model()).firstTokenOfAttempt(predictedNanos, firstTokenNanos);
        }
        watchers.forEach(each -> each.ended(decision));
    }

    private void closed(RequestRecord request) {
        if (file != null) {
            file.offer(request);
        }
    }

    /** Those that are kept, the newest first. @param most at least 0 */
    List<Decision> latest(int most, Predicate<Decision> wanted) {
        List<Decision> kept;
        synchronized (latest) {
            kept = new ArrayList<>(latest);
        }
        return kept.reversed().stream().filter(wanted).limit(most).toList();
    }

    @Override
    public void close() {
        if (file != null) {
            file.close();
        }
    }
}
