package dev.warmpath.worker.foreign.generate;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpHeaderNames;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;
import reactor.netty.http.client.HttpClient;
import reactor.netty.resources.ConnectionProvider;
import reactor.netty.resources.LoopResources;

/**
 * The connections on which the engine is asked for tokens. Whatever happens on them happens on one event loop, so that
 * who is told there needs no locks, and a token passes through no other thread.
 */
final class EngineConnections implements AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(EngineConnections.class);
    /** Uvicorn hangs up after five idle seconds, by default. */
    private static final Duration MAX_IDLE = Duration.ofSeconds(4);
    private static final Duration STOP = Duration.ofSeconds(2);

    private final LoopResources loops = LoopResources.create("foreign-engine", 1, /* daemon */ true);
    private final EventLoop loop = loops.onClient(LoopResources.DEFAULT_NATIVE).next();
    private final ConnectionProvider pool;
    private final HttpClient http;
    private final EngineLink link;

    EngineConnections(EngineLink link) {
        this.link = link;
        this.pool = ConnectionProvider.builder("foreign-engine")
                .maxConnections(link.mostGenerations())
                .pendingAcquireMaxCount(link.mostGenerations())        // one that was given up may still be closing
                .pendingAcquireTimeout(link.connectTimeout())
                .maxIdleTime(MAX_IDLE)
                .evictInBackground(MAX_IDLE)
                .lifo()
                .build();
        this.http = HttpClient.create(pool)
                .runOn(loops)
                .disableRetry(true)                                    // only who was asked knows whether it may be
                .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, (int) link.connectTimeout().toMillis())
                .headers(headers -> {
                    headers.set(HttpHeaderNames.CONTENT_TYPE, "application/json");
                    if (link.apiKey() != null) {
                        headers.set(HttpHeaderNames.AUTHORIZATION, "Bearer " + link.apiKey());
                    }
                    if (link.rank() != null) {
                        headers.set(EngineHttp.RANK_HEADER, link.rank());
                    }
                });
    }

    /** Hears an answer on the event loop: its status, its bytes, and one of the last two. */
    interface Answer {

        void onStatus(int status);

        /** @param bytes valid during the call */
        void onBytes(ByteBuf bytes);

        void onComplete();

        void onBroken(Throwable cause);
    }

    EventLoop loop() {
        return loop;
    }

    /**
     * On the event loop.
     * @param id told as that of the request; null: none is
     * @return closes the connection, unless the answer has ended; nothing is heard after that
     */
    Disposable post(String path, byte[] body, @Nullable String id, Answer answer) {
        return (id == null ? http : http.headers(headers -> headers.set("X-Request-Id", id)))
                .post().uri(link.address().resolve(path))
                .send(Mono.fromSupplier(() -> Unpooled.wrappedBuffer(body)))
                .response((response, content) -> {
                    answer.onStatus(response.status().code());
                    return content;
                })
                .subscribe(answer::onBytes, cause -> onLoop(() -> answer.onBroken(cause)),
                        () -> onLoop(answer::onComplete));
    }

    private void onLoop(Runnable task) {
        if (loop.inEventLoop()) {
            task.run();
        } else {
            loop.execute(task);
        }
    }

    /** Whether it was heard is seen elsewhere. */
    void tell(String path, byte[] body) {
        http.responseTimeout(STOP).post().uri(link.address().resolve(path))
                .send(Mono.fromSupplier(() -> Unpooled.wrappedBuffer(body)))
                .response((_, content) -> content.then())
                .subscribe(null, e -> log.debug("{} was not heard", path, e));
    }

    @Override
    public void close() {
        for (Mono<Void> end : List.of(pool.disposeLater(), loops.disposeLater(Duration.ZERO, STOP))) {
            try {
                end.block(STOP);
            } catch (IllegalStateException e) {
                log.warn("connections to the engine have not ended in {}", STOP, e);
            }
        }
    }
}
