package dev.warmpath.router.http;

import java.time.Duration;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/**
 * Keeps a stream of events open through silence, and ends it visibly if it fails: with an error event, and then with a
 * connection that breaks off, since some readers take a quiet end for a whole answer.
 *
 * <p>Nothing is written before the first event: the first byte carries headers that name the worker, and until a token
 * has come another one may take over. How long that may last is dispatch's limit.
 *
 * <p>Heartbeats also tell readers from those who have stopped reading: as long as somebody reads, something can be
 * written every {@code heartbeat}; if nothing could for {@value #MISSED_HEARTBEATS} of them, the stream is given up.
 * This is the only deadline of a client that pauses: the worker has none while nobody asks it for more.
 */
final class SseStream {

    private static final int MISSED_HEARTBEATS = 4;

    /** Breaks the connection off. What happened was told in the stream's last event. */
    static final class BrokenOffException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        BrokenOffException(Throwable cause) {
            super("a stream was broken off after its error event: " + cause.getMessage(), cause, false, false);
        }
    }

    private final Duration heartbeat;
    private final Function<Throwable, byte[]> errorEvent;
    private final AtomicBoolean begun = new AtomicBoolean();
    private final AtomicBoolean wroteSinceTick = new AtomicBoolean();
    private final AtomicInteger missedHeartbeats = new AtomicInteger();
    private final Sinks.Empty<Void> ended = Sinks.empty();

    /**
     * @param heartbeat  most silence after the first event; half of it is waited for at a time
     * @param errorEvent the last event of a stream that fails after its first byte
     */
    SseStream(Duration heartbeat, Function<Throwable, byte[]> errorEvent) {
        this.heartbeat = heartbeat;
        this.errorEvent = errorEvent;
    }

    /** @return fails with the error itself before the first byte, with {@link BrokenOffException} after it */
    Flux<byte[]> of(Flux<byte[]> events) {
        // told where events and their failure come one after the other, so that both agree on what came first
        Flux<byte[]> answer = events.doOnNext(_ -> begun.set(true))
                .onErrorResume(this::lastWords).doOnTerminate(ended::tryEmitEmpty);
        Flux<byte[]> heartbeats = Flux.interval(heartbeat.dividedBy(2))
                .onBackpressureDrop()
                .takeUntilOther(ended.asMono())
                .filter(_ -> begun.get() && !wroteSinceTick.getAndSet(false))
                .map(_ -> SseEvents.HEARTBEAT);
        // delayed errors: the error event must not be overtaken by the failure that follows it
        return Flux.mergeDelayError(1, answer, heartbeats)
                .doOnNext(_ -> {
                    wroteSinceTick.set(true);
                    missedHeartbeats.set(0);
                })
                .takeUntilOther(readerStopped())                   // an error there would cancel nothing
                .concatWith(Mono.defer(this::givenUp));
    }

    private Mono<Void> readerStopped() {
        return Flux.interval(heartbeat)
                .takeUntil(_ -> begun.get() && missedHeartbeats.incrementAndGet() > MISSED_HEARTBEATS)
                .then();
    }

    private Mono<byte[]> givenUp() {
        return missedHeartbeats.get() <= MISSED_HEARTBEATS ? Mono.empty()
                : Mono.error(new TimeoutException("the client has read nothing for "
                        + heartbeat.multipliedBy(MISSED_HEARTBEATS).toMillis() + " ms"));
    }

    private Flux<byte[]> lastWords(Throwable error) {
        return begun.get()
                ? Flux.just(errorEvent.apply(error)).concatWith(Flux.error(new BrokenOffException(error)))
                : Flux.error(error);
    }
}
