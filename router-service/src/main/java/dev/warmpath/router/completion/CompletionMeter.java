package dev.warmpath.router.completion;

import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.router.admission.OverloadedException;
import dev.warmpath.router.metrics.ModelMeters;
import dev.warmpath.router.metrics.RouterMetrics;
import dev.warmpath.router.metrics.RouterMetrics.Outcome;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;
import reactor.core.publisher.Flux;

/** Watches one completion from outside and writes it into the meters. */
final class CompletionMeter {

    private final RouterMetrics metrics;
    private final CompletionRequest request;
    private final long arrivedNanos;
    private final LongSupplier nanoTime;
    private final AtomicBoolean ended = new AtomicBoolean();
    private volatile ModelMeters model;
    private volatile long inLineNanos;
    private int predictedCachedTokens;
    private boolean hasText;
    private long lastTextNanos;

    /**
     * @param arrivedNanos when the request came, by the same clock
     * @param nanoTime     a monotonic clock, as {@link System#nanoTime}
     */
    CompletionMeter(RouterMetrics metrics, CompletionRequest request, long arrivedNanos, LongSupplier nanoTime) {
        this.metrics = metrics;
        this.request = request;
        this.arrivedNanos = arrivedNanos;
        this.nanoTime = nanoTime;
        this.model = metrics.otherModels();
    }

    Flux<CompletionEvent> measure(Flux<CompletionEvent> events) {
        return events.doOnNext(this::record)
                .doOnComplete(() -> end(Outcome.ANSWERED))
                .doOnCancel(() -> end(Outcome.CANCELLED))
                .doOnError(e -> end(switch (e) {
                    case BadRequestException _ -> Outcome.REFUSED;
                    case OverloadedException _ -> Outcome.OVERLOADED;
                    default -> Outcome.FAILED;
                }));
    }

    /** The model that was asked for is served here, so that its name may be a series. */
    void isServed() {
        model = metrics.model(request.model());
    }

    /** It waits for its turn from now on. */
    void inLine() {
        inLineNanos = nanoTime.getAsLong();
    }

    /** Its turn has come. */
    void turn() {
        model.turn(nanoTime.getAsLong() - inLineNanos);
    }

    private void record(CompletionEvent event) {
        switch (event) {
            case CompletionEvent.Routed routed -> predictedCachedTokens = routed.decision().cachedTokens();
            case CompletionEvent.Text _ -> recordText();
            case CompletionEvent.Finished finished -> {
                if (!hasText || !finished.rest().isEmpty()) {
                    recordText();
                }
                Usage usage = finished.usage();
                model.finished(usage.promptTokens(), usage.completionTokens());
                if (finished.toldByWorker()) {
                    model.cached(predictedCachedTokens, usage.cachedTokens());
                }
            }
        }
    }

    private void recordText() {
        long now = nanoTime.getAsLong();
        if (!hasText) {
            hasText = true;
            model.firstToken(now - arrivedNanos);
        } else if (request.streamed()) {
            model.nextToken(now - lastTextNanos);
        }
        lastTextNanos = now;
    }

    /** A client may leave while the last of its answer is written: it was answered all the same. */
    private void end(Outcome outcome) {
        if (ended.compareAndSet(false, true)) {
            metrics.requestEnded(request.endpoint(), model, outcome);
            if (outcome == Outcome.ANSWERED) {
                model.answered(nanoTime.getAsLong() - arrivedNanos);
            }
        }
    }
}
