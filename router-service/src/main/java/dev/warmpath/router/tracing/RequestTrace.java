package dev.warmpath.router.tracing;

import dev.warmpath.router.decisions.RequestRecord;
import dev.warmpath.router.metrics.RouterMetrics.Stage;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One request as it is observed. Told by one thread at a time, but for a client that leaves: its end may be told while
 * others tell what happened before.
 */
public final class RequestTrace {

    private static final String STAGE = "warmpath.stage";
    private static final String QUEUE = "warmpath.queue";
    private static final String UPSTREAM = "warmpath.upstream";
    private static final Observation.Event FIRST_TOKEN = Observation.Event.of("first_token");
    private static final Observation.Event RETRY = Observation.Event.of("retry");

    private final ObservationRegistry registry;
    private final RequestTraces.StageClock stages;
    private final @Nullable Recorded recorded;
    private final @Nullable String traceId;
    private final Map<String, String> headers;
    private final AtomicReference<@Nullable Observation> queue = new AtomicReference<>();

    /** In a sampled trace. */
    record Recorded(Observation observation, Observed.Answer answer) {}

    /**
     * @param stages   are told of stages if nothing becomes a span: an observation would tell no more, and takes longer
     * @param recorded null: of the request's own doings nothing becomes a span
     * @param traceId  null likewise
     * @param headers  for workers, if nothing becomes a span
     */
    RequestTrace(ObservationRegistry registry, RequestTraces.StageClock stages, @Nullable Recorded recorded,
            @Nullable String traceId, Map<String, String> headers) {
        this.registry = registry;
        this.stages = stages;
        this.recorded = recorded;
        this.traceId = traceId;
        this.headers = headers;
    }

    /** Of the trace that is exported; null if none is. */
    public @Nullable String sampledTraceId() {
        return traceId;
    }

    /** Does a stage of the router's own work. */
    public <T> T stage(Stage stage, Supplier<T> work) {
        if (recorded == null) {
            long startNanos = System.nanoTime();
            try {
                return work.get();
            } finally {
                stages.staged(stage, System.nanoTime() - startNanos);
            }
        }
        var context = new Observed.OwnWork(stage);
        return Observation.createNotStarted(STAGE, () -> under(context), registry).observe(work);
    }

    /** The model that was asked for is served here. */
    public void served(String model) {
        if (recorded != null) {
            recorded.answer.model = model;
        }
    }

    public void tokenized(int promptTokens) {
        if (recorded != null) {
            recorded.answer.promptTokens = promptTokens;
        }
    }

    /** It waits for its turn from now on. */
    public void inLine() {
        if (recorded != null) {
            queue.set(begin(QUEUE, new Observed.Waiting()));
        }
    }

    /** Its turn has come, or it waits no longer. */
    public void outOfLine() {
        @Nullable Observation waiting = queue.getAndSet(null);
        if (waiting != null) {
            waiting.stop();
        }
    }

    /**
     * It goes to a worker.
     *
     * @param number 1 for the first one that is asked
     * @param reason why this worker was chosen
     */
    public AttemptTrace attempt(int number, String workerId, String reason, int predictedCachedTokens) {
        if (recorded == null) {
            return new AttemptTrace(null, null, headers);
        }
        if (number > 1) {
            recorded.observation.event(RETRY);
        }
        var attempt = new Observed.Attempt(number, workerId, reason, predictedCachedTokens);
        return new AttemptTrace(begin(UPSTREAM, attempt), attempt, attempt.headers);
    }

    /** @param record runs with this trace as the thread's own, so that a histogram may keep it as an example */
    public void firstText(long sinceArrivalNanos, Runnable record) {
        if (recorded != null) {
            recorded.answer.firstTextNanos = sinceArrivalNanos;
            recorded.observation.event(FIRST_TOKEN);
        }
        within(record);
    }

    /** Runs a moment's work with this trace as the thread's own: what it logs has the trace's id. */
    public void within(Runnable work) {
        if (recorded == null) {
            work.run();
        } else {
            try (Observation.Scope _ = recorded.observation.openScope()) {
                work.run();
            }
        }
    }

    public void answered(String revision, RequestRecord.Answer whole) {
        if (recorded != null) {
            recorded.answer.revision = revision;
            recorded.answer.answer = whole;
        }
    }

    /** @param failure why it did not end well, from a closed set; null if it did, or if its client has left */
    public void ended(@Nullable String failure) {
        outOfLine();
        if (recorded != null) {
            recorded.answer.failure = failure;
            recorded.observation.stop();
        }
    }

    private Observation begin(String name, Observed context) {
        return Observation.start(name, () -> under(context), registry);
    }

    private Observed under(Observed context) {
        if (recorded != null) {
            context.setParentObservation(recorded.observation);
        }
        return context;
    }
}
