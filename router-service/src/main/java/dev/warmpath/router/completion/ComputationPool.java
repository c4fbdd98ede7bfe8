package dev.warmpath.router.completion;

import dev.warmpath.protocol.process.ProcessEnd;
import dev.warmpath.router.admission.AdmissionControl.Permit;
import dev.warmpath.router.admission.OverloadedException;
import dev.warmpath.router.metrics.RouterMeter;
import dev.warmpath.router.metrics.RouterMetrics;
import dev.warmpath.router.metrics.RouterMetrics.Limit;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.stereotype.Component;
import reactor.core.publisher.Mono;
import reactor.core.publisher.MonoSink;
import reactor.core.publisher.Signal;

/**
 * Bounded threads for what takes long, off the event loops. A computation cannot be stopped: if nobody waits for it any
 * more it runs on, and its request's permit is held until it has ended or has been passed over in the queue.
 */
@Component
public final class ComputationPool implements DisposableBean {

    private final ThreadPoolExecutor threads;
    private final RouterMetrics metrics;

    ComputationPool(CompletionProperties properties, RouterMetrics metrics) {
        this.metrics = metrics;
        int threadCount = properties.tokenizerThreads() > 0
                ? properties.tokenizerThreads()
                : Math.max(1, Runtime.getRuntime().availableProcessors() - 1);
        this.threads = new ThreadPoolExecutor(threadCount, threadCount, 0, TimeUnit.SECONDS,
                new LinkedBlockingQueue<>(properties.tokenizerQueue()),
                Thread.ofPlatform().daemon().name("tokenizer-", 0).factory());
        metrics.watch(RouterMeter.TOKENIZER_QUEUE, () -> threads.getQueue().size());
    }

    /**
     * Runs the work here; what follows runs here, too.
     *
     * @return fails as the work does, and with {@link OverloadedException} if the queue is full
     */
    public <T> Mono<T> run(Permit permit, Supplier<T> work) {
        // a signal, so that the failure of what nobody waits for is dropped as silently as its result
        return Mono.<Signal<T>>create(sink -> enqueue(permit, work, sink)).dematerialize();
    }

    private <T> void enqueue(Permit permit, Supplier<T> work, MonoSink<Signal<T>> sink) {
        @Nullable Permit share = permit.share();
        if (share == null) {
            return;
        }
        var cancelled = new AtomicBoolean();
        sink.onCancel(() -> cancelled.set(true));
        long sinceNanos = System.nanoTime();
        try {
            threads.execute(() -> {
                metrics.gotThread(System.nanoTime() - sinceNanos);
                try (share) {
                    if (!cancelled.get()) {
                        sink.success(outcome(work));
                    }
                }
            });
        } catch (RejectedExecutionException e) {
            share.close();
            metrics.refusedAtTheDoor(Limit.THREADS);
            sink.success(Signal.error(
                    new OverloadedException(threads.getQueue().size() + " computations wait for a thread already")));
        }
    }

    private static <T> Signal<T> outcome(Supplier<T> work) {
        try {
            return Signal.next(work.get());
        } catch (Throwable e) {                                  // an Error, too: the request must not wait for ever
            ProcessEnd.rethrowIfFatal(e);
            return Signal.error(e);
        }
    }

    @Override
    public void destroy() {
        threads.shutdown();
    }
}
