package dev.warmpath.router.completion;

import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.router.admission.OverloadedException;
import dev.warmpath.router.decisions.RequestRecord;
import dev.warmpath.router.dispatch.DispatchException;
import dev.warmpath.router.keys.KeyException;
import dev.warmpath.router.metrics.ModelMeters;
import dev.warmpath.router.metrics.PolicyMeters;
import dev.warmpath.router.metrics.RouterMetrics;
import dev.warmpath.router.metrics.RouterMetrics.Outcome;
import dev.warmpath.router.routing.RouteDecision;
import dev.warmpath.router.routing.RouteReason;
import dev.warmpath.router.tracing.RequestTrace;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Operators;

/** Watches one completion from outside and writes it into the meters, into its record and into its trace. */
final class CompletionMeter {

    private final RouterMetrics metrics;
    private final CompletionRequest request;
    private final RequestRecord record;
    private final RequestTrace trace;
    private final long arrivedNanos;
    private final LongSupplier nanoTime;
    private final AtomicBoolean ended = new AtomicBoolean();
    private final AtomicBoolean closed = new AtomicBoolean();
    private volatile ModelMeters model;
    private volatile long inLineNanos;
    private @Nullable PolicyMeters policy;
    private String revision = "";
    private int fleetCachedTokens;
    private int predictedCachedTokens;
    private boolean hasText;
    /** The first choice has. */
    private boolean firstHasText;
    private long lastTextNanos;

    /**
     * @param record       is closed when all has ended, upstream too
     * @param arrivedNanos when the request came, by the same clock
     * @param nanoTime     a monotonic clock, as {@link System#nanoTime}
     */
    CompletionMeter(RouterMetrics metrics, CompletionRequest request, RequestRecord record, RequestTrace trace,
            long arrivedNanos, LongSupplier nanoTime) {
        this.metrics = metrics;
        this.request = request;
        this.record = record;
        this.trace = trace;
        this.arrivedNanos = arrivedNanos;
        this.nanoTime = nanoTime;
        this.model = metrics.otherModels();
    }

    Flux<CompletionEvent> measure(Flux<CompletionEvent> events) {
        return Flux.from(reader -> events.subscribe(new Measured(Operators.toCoreSubscriber(reader))));
    }

    /** Passes the events on, each after it was written down. */
    private final class Measured extends Passing<CompletionEvent, CompletionEvent> {

        Measured(CoreSubscriber<? super CompletionEvent> reader) {
            super(reader);
        }

        @Override
        public void onNext(CompletionEvent event) {
            record(event);
            reader.onNext(event);
        }

        @Override
        public void onComplete() {
            end(Outcome.ANSWERED, null);
            reader.onComplete();
            close();
        }

        @Override
        public void onError(Throwable error) {
            failed(error);
            reader.onError(error);
            close();
        }

        @Override
        public void cancel() {
            end(Outcome.CANCELLED, null);
            upstream.cancel();
            close();
        }

        private void close() {
            if (closed.compareAndSet(false, true)) {
                record.close();
            }
        }
    }

    /** The model that was asked for is served here, so that its name may be a series. */
    void isServed() {
        model = metrics.model(request.model());
        record.served(request.model());
        trace.served(request.model());
    }

    void tokenized(int promptTokens) {
        record.tokenized(promptTokens);
        trace.tokenized(promptTokens);
    }

    /** It waits for its turn from now on. */
    void inLine() {
        inLineNanos = nanoTime.getAsLong();
        trace.inLine();
    }

    /** Its turn has come. */
    void turn() {
        long waitedNanos = nanoTime.getAsLong() - inLineNanos;
        model.turn(waitedNanos);
        record.turn(waitedNanos);
        trace.outOfLine();
    }

    private void record(CompletionEvent event) {
        switch (event) {
            case CompletionEvent.Routed routed -> {
                revision = routed.revision();
                fleetCachedTokens = routed.decision().fleetCachedTokens();
                predictedCachedTokens = routed.decision().cachedTokens();
                RouteDecision.Routed decision = routed.decision();
                policy = decision.reason() == RouteReason.TRIAL ? null : metrics.policy(decision.policy().text());
            }
            case CompletionEvent.Prompt _ -> { }
            case CompletionEvent.Text text -> recordText(text.choice());
            case CompletionEvent.Parts parts -> recordText(parts.choice());
            case CompletionEvent.Finished finished -> {
                if (!hasText || !finished.rest().isEmpty()) {
                    recordText(finished.choice());
                }
                if (finished.last()) {
                    recordEnd(finished);
                }
            }
        }
    }

    private void recordEnd(CompletionEvent.Finished finished) {
        Usage usage = finished.usage();
        model.finished(usage.promptTokens(), usage.completionTokens());
        if (finished.toldByWorker()) {
            model.cached(fleetCachedTokens, predictedCachedTokens, usage.cachedTokens());
            if (policy != null) {
                policy.cached(usage.promptTokens(), usage.cachedTokens());
            }
        }
        var answer = new RequestRecord.Answer(text(finished.reason()),
                finished.toldByWorker() ? usage.cachedTokens() : null, usage.completionTokens());
        record.answered(answer);
        trace.answered(revision, answer);
    }

    /** How far texts lie apart is told of the first choice: of several, others come in between. */
    private void recordText(int choice) {
        long now = nanoTime.getAsLong();
        if (!hasText) {
            hasText = true;
            trace.firstText(now - arrivedNanos, () -> firstText(now - arrivedNanos));
            record.firstText(now - arrivedNanos);
        }
        if (choice == 0) {
            if (firstHasText && request.streamed()) {
                model.nextToken(now - lastTextNanos);
            }
            firstHasText = true;
            lastTextNanos = now;
        }
    }

    private void firstText(long sinceArrivalNanos) {
        model.firstToken(sinceArrivalNanos);
        if (policy != null) {
            policy.firstToken(sinceArrivalNanos);
        }
    }

    private void failed(Throwable error) {
        switch (error) {
            case BadRequestException bad -> end(Outcome.REFUSED, text(bad.fault()));
            case KeyException refused -> end(Outcome.REFUSED, "key_" + refused.refusal().cause());
            case OverloadedException _ -> end(Outcome.OVERLOADED, null);
            case DispatchException known -> end(known.failure().isRequestsFault() ? Outcome.REFUSED : Outcome.FAILED,
                    known.failure().cause());
            default -> end(Outcome.FAILED, "router_fault");
        }
    }

    /** A client may leave while the last of its answer is written: it was answered all the same. */
    private void end(Outcome outcome, @Nullable String error) {
        if (ended.compareAndSet(false, true)) {
            long sinceArrivalNanos = nanoTime.getAsLong() - arrivedNanos;
            metrics.requestEnded(request.endpoint(), model, outcome);
            if (outcome == Outcome.ANSWERED) {
                model.answered(sinceArrivalNanos);
            }
            record.ended(text(outcome), error, sinceArrivalNanos);
            trace.ended(outcome == Outcome.OVERLOADED ? text(outcome) : error);
        }
    }

    private static String text(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT);
    }
}
