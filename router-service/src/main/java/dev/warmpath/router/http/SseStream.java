package dev.warmpath.router.http;

import io.netty.channel.EventLoop;
import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.NettyDataBufferFactory;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/**
 * An answer on its way to one connection, as server-sent events. Keeps the stream open through silence, and ends it
 * visibly if it fails: with an error event, and then with a connection that breaks off, since some readers take a quiet
 * end for a whole answer.
 *
 * <p>Nothing is written before the first event: the first byte carries headers that name the worker, and until a token
 * has come another one may take over. How long that may last is dispatch's limit.
 *
 * <p>Heartbeats also tell readers from those who have stopped reading: as long as somebody reads, something can be
 * written every {@code heartbeat}; if nothing could for {@value #MISSED_HEARTBEATS} of them, the stream is given up.
 * This is the only deadline of a client that pauses: the worker has none while nobody asks it for more.
 *
 * <p><b>Whose thread.</b> All of this belongs to the connection's event loop, where the worker's bytes arrive, too, see
 * {@link dev.warmpath.router.dispatch.HomeLoop}; what is signalled elsewhere, as the failure of what a tokenizer's thread
 * computes, becomes a task there, and so does what follows it until that is done. So a token passes without a lock.
 *
 * <p><b>Whose demand.</b> What the network asks for is credit. {@value #AHEAD} of it at most are lent to the answer; a
 * heartbeat, and the last words of an answer that failed, take from what is left.
 *
 * @param <E> what an answer consists of
 */
final class SseStream<E> {

    private static final int MISSED_HEARTBEATS = 4;
    /** Of a heartbeat: it is looked twice whether one is due. */
    private static final int TICKS = 2;
    /** Events that may come before more are asked for. */
    private static final int AHEAD = 16;

    /** Breaks the connection off. What happened was told in the stream's last event. */
    static final class BrokenOffException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        BrokenOffException(Throwable cause) {
            super("a stream was broken off after its error event: " + cause.getMessage(), cause, false, false);
        }
    }

    private final Consumer<E> words;
    private final SseEvents events;
    private final NettyDataBufferFactory buffers;
    private final EventLoop loop;
    private final Duration heartbeat;
    private final Runnable whenDrawn;
    /** Signals that other threads have left as tasks. */
    private final AtomicInteger onTheirWay = new AtomicInteger();

    private CoreSubscriber<? super DataBuffer> network = Operators.emptySubscriber();
    private Subscription answer = Operators.emptySubscription();
    private long credit;
    private int lent;
    private boolean begun;
    /** The answer has ended, or nobody wants it any more. */
    private boolean over;
    private @Nullable Throwable untold;
    private @Nullable Future<?> ticker;
    private int ticks;
    private boolean wroteSinceTick;
    private int missedHeartbeats;

    /**
     * @param words     writes what follows from one event of the answer, maybe nothing, to {@code events}
     * @param loop      the connection's
     * @param heartbeat most silence after the first event; half of it is waited for at a time
     * @param whenDrawn runs once, when the answer is over or is not wanted any more
     */
    SseStream(Consumer<E> words, SseEvents events, NettyDataBufferFactory buffers, EventLoop loop,
            Duration heartbeat, Runnable whenDrawn) {
        this.words = words;
        this.events = events;
        this.buffers = buffers;
        this.loop = loop;
        this.heartbeat = heartbeat;
        this.whenDrawn = whenDrawn;
    }

    /**
     * To be subscribed once.
     *
     * @return fails with the answer's own error before the first byte, with {@link BrokenOffException} after it
     */
    Flux<DataBuffer> of(Flux<E> answerEvents) {
        return Flux.from(reader -> {
            network = Operators.toCoreSubscriber(reader);
            answerEvents.subscribe(new Answer());
        });
    }

    /** From any thread, more than once, and whether it was subscribed or not. */
    void cancel() {
        onLoop(this::leave);
    }

    private void onLoop(Runnable task) {
        if (loop.inEventLoop()) {
            task.run();
        } else {
            loop.execute(task);
        }
    }

    /** What comes from the answer. */
    private final class Answer implements CoreSubscriber<E> {

        @Override
        public Context currentContext() {
            return network.currentContext();
        }

        @Override
        public void onSubscribe(Subscription subscription) {
            answer = subscription;
            network.onSubscribe(new Demand());
        }

        @Override
        public void onNext(E event) {
            if (comesInTurn()) {
                write(event);
            } else {
                inItsTurn(() -> write(event));
            }
        }

        @Override
        public void onComplete() {
            if (comesInTurn()) {
                complete();
            } else {
                inItsTurn(SseStream.this::complete);
            }
        }

        @Override
        public void onError(Throwable error) {
            if (comesInTurn()) {
                fail(error);
            } else {
                inItsTurn(() -> fail(error));
            }
        }

        private boolean comesInTurn() {
            return loop.inEventLoop() && onTheirWay.get() == 0;
        }

        private void inItsTurn(Runnable signal) {
            onTheirWay.incrementAndGet();
            loop.execute(() -> {
                onTheirWay.decrementAndGet();
                signal.run();
            });
        }
    }

    /** What comes from the network. */
    private final class Demand implements Subscription {

        @Override
        public void request(long count) {
            if (Operators.validate(count)) {
                onLoop(() -> grant(count));
            }
        }

        @Override
        public void cancel() {
            SseStream.this.cancel();
        }
    }

    private void grant(long count) {
        credit = Operators.addCap(credit, count);
        if (untold != null) {
            tell(untold);
        }
        lend();
    }

    private void lend() {
        int more = over || lent > AHEAD / 2 ? 0 : (int) Math.min(credit, AHEAD - lent);
        if (more > 0) {
            credit -= more;
            lent += more;
            answer.request(more);
        }
    }

    private void write(E event) {
        if (over) {
            return;
        }
        try {
            words.accept(event);
        } catch (RuntimeException e) {                             // a fault of this router
            answer.cancel();
            fail(e);
            return;
        }
        if (events.isEmpty()) {
            answer.request(1);
        } else {
            lent--;
            begin();
            emit();
            lend();
        }
    }

    private void begin() {
        if (!begun) {
            begun = true;
            long nanos = heartbeat.toNanos() / TICKS;
            ticker = loop.scheduleAtFixedRate(this::tick, nanos, nanos, TimeUnit.NANOSECONDS);
        }
    }

    private void emit() {
        wroteSinceTick = true;
        missedHeartbeats = 0;
        network.onNext(buffers.wrap(events.take()));
    }

    private void tick() {
        if (!over && !wroteSinceTick && credit > 0) {
            credit--;
            events.addHeartbeat();
            emit();
        }
        wroteSinceTick = false;
        ticks++;
        if (ticks % TICKS == 0 && ++missedHeartbeats > MISSED_HEARTBEATS) {
            leave();
            network.onError(new TimeoutException("the client has read nothing for "
                    + heartbeat.multipliedBy(MISSED_HEARTBEATS).toMillis() + " ms"));
        }
    }

    private void complete() {
        if (!over) {
            end();
            stopTicker();
            network.onComplete();
        }
    }

    private void fail(Throwable error) {
        if (over) {
            return;
        }
        end();
        events.clear();
        if (begun) {
            tell(error);
        } else {
            network.onError(error);
        }
    }

    /** Says in the stream why it ends, as soon as the network takes that, and breaks it off. */
    private void tell(Throwable error) {
        if (credit + lent == 0) {
            untold = error;
            return;
        }
        untold = null;
        stopTicker();
        events.addError(error);
        emit();
        network.onError(new BrokenOffException(error));
    }

    private void leave() {
        if (!over) {
            answer.cancel();
            end();
        }
        untold = null;
        stopTicker();
        events.clear();
    }

    /** Of the answer; what is untold of it may wait for the reader yet. */
    private void end() {
        over = true;
        whenDrawn.run();
    }

    private void stopTicker() {
        if (ticker != null) {
            ticker.cancel(false);
        }
    }
}
