package dev.warmpath.worker.routerlink;

import dev.warmpath.protocol.event.EventFrames;
import dev.warmpath.protocol.fleet.Protocol;
import java.util.concurrent.ArrayBlockingQueue;
import org.springframework.context.SmartLifecycle;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DefaultDataBufferFactory;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.core.scheduler.Schedulers;

/**
 * The worker's event stream over HTTP: a snapshot, then every batch, and an empty frame each second in between.
 *
 * <p>The bridge from the engine's thread to Netty is a bounded queue per reader. A reader that leaves it full is cut
 * off: its connection breaks, it comes back, and a snapshot costs less than what it has missed.
 */
public final class KvEventStream implements SmartLifecycle {

    /** About a second of steps at their fastest. */
    static final int MAX_QUEUED_FRAMES = 1024;

    private final KvEventPublisher publisher;
    private final Sinks.Empty<Void> stopped = Sinks.empty();
    private volatile boolean running = true;

    public KvEventStream(KvEventPublisher publisher) {
        this.publisher = publisher;
    }

    /** The route to be served on the worker's port, behind {@link FleetGate}. */
    public RouterFunction<ServerResponse> routes() {
        return RouterFunctions.route().GET(Protocol.EVENTS_PATH, this::stream).build();
    }

    private Mono<ServerResponse> stream(ServerRequest request) {
        if (!running) {
            return Problems.answer(HttpStatus.SERVICE_UNAVAILABLE, "this worker is going away");
        }
        String expected = request.queryParam(Protocol.EPOCH_PARAMETER).orElse("");
        if (!expected.equals(Long.toString(publisher.epoch()))) {
            return Problems.answer(HttpStatus.CONFLICT, "worker " + publisher.workerId() + " has epoch "
                    + publisher.epoch() + ", the reader expects " + (expected.isEmpty() ? "none" : expected));
        }
        return ServerResponse.ok()
                .contentType(MediaType.APPLICATION_OCTET_STREAM)
                .body((response, _) -> response.writeWith(frames()));
    }

    Flux<DataBuffer> frames() {
        Flux<byte[]> batches = Flux.defer(() -> {
            var queue = new ArrayBlockingQueue<byte[]>(MAX_QUEUED_FRAMES);
            Sinks.Many<byte[]> sink = Sinks.many().unicast().onBackpressureBuffer(queue);
            KvEventPublisher.Subscriber subscriber = frame -> take(sink, frame);
            publisher.subscribe(subscriber);
            return sink.asFlux().doFinally(_ -> publisher.unsubscribe(subscriber));
        });
        Flux<byte[]> keepAlives = Flux.interval(EventFrames.KEEP_ALIVE_INTERVAL)
                .onBackpressureDrop()
                .map(_ -> EventFrames.keepAlive());
        return Flux.merge(batches.publishOn(Schedulers.parallel(), /* prefetch */ 1), keepAlives)
                .takeUntilOther(stopped.asMono())
                .map(DefaultDataBufferFactory.sharedInstance::wrap);
    }

    private static boolean take(Sinks.Many<byte[]> sink, byte[] frame) {
        if (sink.tryEmitNext(frame).isSuccess()) {
            return true;
        }
        sink.tryEmitError(new IllegalStateException("the reader left " + MAX_QUEUED_FRAMES + " event frames unread"));
        return false;
    }

    @Override
    public void start() {
        running = true;
    }

    /** Streams never end by themselves: without this, a graceful stop would wait for them. */
    @Override
    public void stop() {
        running = false;
        stopped.tryEmitEmpty();
    }

    @Override
    public boolean isRunning() {
        return running;
    }

    /** Stops after the worker has drained, and before the web server waits for its open connections. */
    @Override
    public int getPhase() {
        return SmartLifecycle.DEFAULT_PHASE - 1;
    }
}
