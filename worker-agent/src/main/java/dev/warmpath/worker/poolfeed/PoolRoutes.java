package dev.warmpath.worker.poolfeed;

import dev.warmpath.protocol.event.EventFrames;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.worker.engine.Engine;
import dev.warmpath.worker.engine.EngineBooks;
import dev.warmpath.worker.engine.RefusedException;
import dev.warmpath.worker.engine.SteppingException;
import dev.warmpath.worker.routerlink.FleetGate;
import dev.warmpath.worker.routerlink.Problems;
import io.netty.channel.Channel;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Duration;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.context.SmartLifecycle;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DefaultDataBufferFactory;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.web.reactive.function.server.RequestPredicates;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.core.scheduler.Schedulers;

/** The pool over HTTP, for routers: what is seen of it, and its engine's steps by hand. */
public final class PoolRoutes implements SmartLifecycle {

    private static final String BLOCK = "block";
    private static final String REQUEST = "request";
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    /** Looks and holds wait for the end of a step. */
    private static final Duration LONGEST_WAIT = Duration.ofSeconds(10);
    /** A step by hand is waited for to its end, within reason. */
    private static final Duration LONGEST_STEP = Duration.ofMinutes(1);

    private final Engine engine;
    private final PoolFeed feed;
    private final LookBudget looks;
    private final String workerId;
    private final long epoch;
    private final @Nullable String notStepped;
    private final Sinks.Empty<Void> stopped = Sinks.empty();
    private volatile boolean running = true;

    /**
     * @param epoch      of this life of the worker
     * @param notStepped why the engine is not held and stepped by hand; null: it is
     */
    public PoolRoutes(Engine engine, String workerId, long epoch, @Nullable String notStepped) {
        this(engine, workerId, epoch, notStepped, System::nanoTime);
    }

    /** @param nanoTime looks are rationed by it */
    PoolRoutes(Engine engine, String workerId, long epoch, @Nullable String notStepped, LongSupplier nanoTime) {
        this.engine = engine;
        this.feed = new PoolFeed(engine);
        this.looks = new LookBudget(nanoTime);
        this.workerId = workerId;
        this.epoch = epoch;
        this.notStepped = notStepped;
    }

    /** The routes to be served on the worker's port, behind {@link FleetGate}. */
    public RouterFunction<ServerResponse> routes() {
        return RouterFunctions.route()
                .GET(Protocol.POOL_PATH, this::stream)
                .GET(Protocol.POOL_BLOCKS_PATH + "{" + BLOCK + "}", this::block)
                .GET(Protocol.POOL_REQUESTS_PATH + "{" + REQUEST + "}", this::request)
                .PUT(Protocol.POOL_HOLD_PATH, _ -> stepping(() -> done(engine.hold()), LONGEST_WAIT))
                .DELETE(Protocol.POOL_HOLD_PATH, _ -> release())
                .POST(Protocol.POOL_STEP_PATH, _ -> stepping(() -> json(engine.stepByHand()), LONGEST_STEP))
                .POST(Protocol.POOL_RESET_PATH, _ -> guarded(
                        () -> json(engine.resetPrefixCache().thenApply(Forgotten::new)), LONGEST_WAIT))
                .build();
    }

    /** @param all false if sequences hold blocks: what these carry is still found */
    private record Forgotten(boolean all) {}

    /** The same routes of a worker that has no pool to show. */
    public static RouterFunction<ServerResponse> ofNone() {
        return RouterFunctions.route(
                RequestPredicates.path(Protocol.POOL_PATH).or(RequestPredicates.path(Protocol.POOL_PATH + "/**")),
                _ -> Problems.answer(HttpStatus.NOT_FOUND,
                        "this worker keeps no pool of its own: the engine beside it keeps its blocks to itself"));
    }

    /** For tests of this package. */
    PoolFeed feed() {
        return feed;
    }

    private Mono<ServerResponse> stream(ServerRequest request) {
        if (!running) {
            return Problems.answer(HttpStatus.SERVICE_UNAVAILABLE, "this worker is going away");
        }
        String expected = request.queryParam(Protocol.EPOCH_PARAMETER).orElse("");
        if (!expected.equals(Long.toString(epoch))) {
            return Problems.answer(HttpStatus.CONFLICT, "worker " + workerId + " has epoch " + epoch
                    + ", the reader expects " + (expected.isEmpty() ? "none" : expected));
        }
        Channel channel = FleetGate.channel(request.exchange().getRequest());
        var reader = new ChannelReader(channel);
        if (!feed.attach(reader)) {
            return Problems.answer(HttpStatus.SERVICE_UNAVAILABLE,
                    "%d others look at this worker's pool, no more are served: look again when one has left"
                            .formatted(PoolFeed.MAX_READERS));
        }
        // also if the answer is never begun
        channel.closeFuture().addListener(_ -> feed.detach(reader));
        return ServerResponse.ok()
                .contentType(MediaType.APPLICATION_OCTET_STREAM)
                .body((response, _) -> response.writeWith(frames(reader)));
    }

    private Flux<DataBuffer> frames(ChannelReader reader) {
        Flux<byte[]> keepAlives = Flux.interval(EventFrames.KEEP_ALIVE_INTERVAL)
                .onBackpressureDrop()
                .filter(_ -> reader.isReady())
                .map(_ -> EventFrames.keepAlive());
        return Flux.merge(reader.sink.asFlux().publishOn(Schedulers.parallel(), /* prefetch */ 1), keepAlives)
                .takeUntilOther(Mono.firstWithSignal(stopped.asMono(), reader.ended.asMono()))
                .doFinally(_ -> feed.detach(reader))
                .map(DefaultDataBufferFactory.sharedInstance::wrap);
    }

    /**
     * The bridge from the sampler to a connection. Ready means that the connection has passed on to the network what it
     * was given before, but for some kilobytes.
     */
    private static final class ChannelReader implements PoolFeed.Reader {

        private final Channel channel;
        private final ArrayBlockingQueue<byte[]> queue = new ArrayBlockingQueue<>(1);
        private final Sinks.Many<byte[]> sink = Sinks.many().unicast().onBackpressureBuffer(queue);
        private final Sinks.Empty<Void> ended = Sinks.empty();

        ChannelReader(Channel channel) {
            this.channel = channel;
        }

        @Override
        public boolean isReady() {
            return queue.isEmpty() && channel.isWritable();
        }

        @Override
        public void take(byte[] frame) {
            sink.tryEmitNext(frame);
        }

        @Override
        public void end() {
            ended.tryEmitEmpty();
        }
    }

    private Mono<ServerResponse> block(ServerRequest request) {
        String name = request.pathVariable(BLOCK);
        int block = number(name);
        return look(books -> PoolDetails.block(books, block), () -> "this pool has no block " + name);
    }

    /** -1, which is no block, if it is no number, or too large a one. */
    private static int number(String text) {
        try {
            return Integer.parseInt(text);
        } catch (NumberFormatException e) {
            return -1;
        }
    }

    private Mono<ServerResponse> request(ServerRequest request) {
        String id = request.pathVariable(REQUEST);
        return look(books -> PoolDetails.request(books, id), () -> "no request of that id runs or waits here");
    }

    private <T> Mono<ServerResponse> look(Function<EngineBooks, @Nullable T> at, Supplier<String> none) {
        long paid = looks.take();
        if (paid == 0) {
            return Problems.answer(HttpStatus.TOO_MANY_REQUESTS, "looks at blocks and requests are to take no more "
                    + "than a thousandth of the engine's time, and have taken theirs for now: look again in a second");
        }
        return guarded(() -> json(engine.look(books -> timed(books, at, paid))), LONGEST_WAIT)
                .switchIfEmpty(Mono.defer(() -> Problems.answer(HttpStatus.NOT_FOUND, none.get())));
    }

    /** On the engine's thread, by whose processor time it is measured: it may have to wait for a processor. */
    private <T> @Nullable T timed(EngineBooks books, Function<EngineBooks, @Nullable T> at, long paid) {
        long start = THREADS.getCurrentThreadCpuTime();
        try {
            return at.apply(books);
        } finally {
            looks.took(THREADS.getCurrentThreadCpuTime() - start, paid);
        }
    }

    private Mono<ServerResponse> release() {
        engine.release();
        return ServerResponse.noContent().build();
    }

    private Mono<ServerResponse> stepping(Supplier<Mono<ServerResponse>> asked, Duration longest) {
        return notStepped != null ? Problems.answer(HttpStatus.CONFLICT, notStepped) : guarded(asked, longest);
    }

    /** What the engine's thread completes goes on on another one. */
    private static <T> Mono<ServerResponse> json(CompletableFuture<T> answer) {
        return Mono.fromFuture(answer).publishOn(Schedulers.parallel())
                .flatMap(found -> ServerResponse.ok().contentType(MediaType.APPLICATION_JSON).bodyValue(found));
    }

    private static Mono<ServerResponse> done(CompletableFuture<Void> done) {
        return Mono.fromFuture(done, /* suppressCancel */ true).publishOn(Schedulers.parallel())
                .then(ServerResponse.noContent().build());
    }

    private static Mono<ServerResponse> guarded(Supplier<Mono<ServerResponse>> asked, Duration longest) {
        return Mono.defer(asked)
                .timeout(longest)
                .onErrorResume(SteppingException.class, e -> Problems.answer(HttpStatus.CONFLICT, e.getMessage()))
                .onErrorResume(RefusedException.class,
                        e -> Problems.answer(HttpStatus.SERVICE_UNAVAILABLE, e.getMessage()))
                .onErrorResume(TimeoutException.class, _ -> Problems.answer(HttpStatus.SERVICE_UNAVAILABLE,
                        "the engine has been at one step for " + longest.toSeconds()
                                + " s: ask again when it has ended"))
                .onErrorResume(CancellationException.class, _ -> Problems.answer(HttpStatus.SERVICE_UNAVAILABLE,
                        "the engine was released, or has stopped, before it came to this"));
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
