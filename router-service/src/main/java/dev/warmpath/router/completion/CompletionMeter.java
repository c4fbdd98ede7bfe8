package dev.warmpath.router.completion;

import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.router.admission.OverloadedException;
import dev.warmpath.router.metrics.RouterMetrics;
import dev.warmpath.router.metrics.RouterMetrics.Outcome;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import reactor.core.publisher.Flux;

/** Watches one completion from outside and writes it into the meters. */
final class CompletionMeter {

    private final RouterMetrics metrics;
    private final CompletionRequest request;
    private final long startNanos = System.nanoTime();
    private final AtomicBoolean ended = new AtomicBoolean();
    private int predictedCachedTokens;
    private boolean hasText;

    CompletionMeter(RouterMetrics metrics, CompletionRequest request) {
        this.metrics = metrics;
        this.request = request;
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

    private void record(CompletionEvent event) {
        switch (event) {
            case CompletionEvent.Routed routed -> predictedCachedTokens = routed.decision().cachedTokens();
            case CompletionEvent.Text _ -> recordFirstText();
            case CompletionEvent.Finished finished -> {
                recordFirstText();
                Usage usage = finished.usage();
                metrics.finished(request.model(), usage.promptTokens(), usage.completionTokens());
                if (finished.toldByWorker()) {
                    metrics.cached(request.model(), predictedCachedTokens, usage.cachedTokens());
                }
            }
        }
    }

    private void recordFirstText() {
        if (!hasText) {
            hasText = true;
            metrics.firstToken(request.model(), Duration.ofNanos(System.nanoTime() - startNanos));
        }
    }

    /** A client may leave while the last of its answer is written: it was answered all the same. */
    private void end(Outcome outcome) {
        if (ended.compareAndSet(false, true)) {
            metrics.requestEnded(request.endpoint(), outcome);
        }
    }
}
