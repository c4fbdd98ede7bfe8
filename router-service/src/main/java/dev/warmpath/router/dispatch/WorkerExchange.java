package dev.warmpath.router.dispatch;

import dev.warmpath.protocol.generate.GenerateEvent;
import dev.warmpath.router.dispatch.DispatchFailure.InvalidAnswer;
import dev.warmpath.router.dispatch.DispatchFailure.WorkerLost;
import dev.warmpath.router.dispatch.DispatchFailure.WorkerSilent;
import dev.warmpath.router.fleet.FleetWorker;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoop;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.BitSet;
import java.util.Queue;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntConsumer;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.netty.Connection;
import reactor.netty.NettyOutbound;
import reactor.netty.channel.ChannelOperations;
import reactor.netty.http.client.HttpClient;

/**
 * One request to one worker, and the events of its answer to one reader, as fast as the reader asks for them.
 *
 * <p><b>Whose connection.</b> The connection is this exchange's from when the request is sent to the end of the body; a
 * moment later it may carry somebody else's request. So it is closed in one place, {@link #close}, on its event loop,
 * where the body cannot end between the question whether it is still ours and the closing. A reader that leaves before
 * there is a connection leaves a mark, which is looked at when there is one. An answer that has ended gives its
 * connection back when the worker has ended the body; the reader does not wait for that.
 *
 * <p><b>Whose silence.</b> A tick on the event loop counts how often in a row the reader wanted something and the worker
 * had sent nothing. What has arrived is read before the tick is run, and a process that was held up ticks once when it
 * goes on, so neither makes a worker silent. A reader that wants nothing stops the count, and so does somebody who
 * holds the worker, to step it by hand.
 *
 * <p>Fields without a remark belong to the connection's event loop.
 */
final class WorkerExchange implements Subscription {

    private static final Duration TICK = Duration.ofMillis(250);
    /** From when a worker is known to be gone: it may have left in good order, and its last bytes be on the way. */
    private static final Duration GONE_SILENCE = Duration.ofSeconds(2);
    /** One that has said its last word has only the end of the body to send. */
    private static final Duration END_SILENCE = Duration.ofSeconds(5);
    /** One that was asked to stop has a last word to send. */
    private static final Duration STOP_SILENCE = Duration.ofSeconds(2);
    /** Of the body of a refusal; what is longer is cut. */
    private static final int MAX_PROBLEM_BYTES = 16 << 10;
    private static final int OK = 200;

    /**
     * What is asked, and on which terms.
     *
     * @param body       of the request
     * @param firstToken longest silence before the first token, from when the request is sent
     * @param interToken likewise between two events
     * @param enough     asked after tokens of a choice, on the thread that delivered them: true = the reader needs no
     *                   more of it
     * @param stop       asks the worker to end a choice well; at most once for each
     */
    record Terms(FleetWorker worker, byte[] body, Duration firstToken, Duration interToken, IntPredicate enough,
            IntConsumer stop) {}

    /** @param loop the connection's; a closed channel no longer tells its own */
    private record Held(Connection connection, EventLoop loop) {}

    private final Terms terms;
    private final EventLines lines;
    private final AnswerCheck check;
    private final WorkerFailures failures;
    private final Subscriber<? super GenerateEvent> reader;
    /** Events that the reader has asked for and not got. Added to by any thread. */
    private final AtomicLong demand = new AtomicLong();
    /** The reader has left. Written by any thread. */
    private volatile boolean cancelled;
    /** Read by any thread. */
    private volatile @Nullable Held held;

    private final Body body = new Body();
    private final Queue<GenerateEvent> arrived = new ArrayDeque<>();
    private final ByteArrayOutputStream problem = new ByteArrayOutputStream();
    private @Nullable Future<?> ticker;
    private int status;
    private int quietTicks;
    private boolean knownGone;
    private boolean hasToken;
    /** Choices that the worker was asked to end. */
    private final BitSet stopped = new BitSet();
    private boolean delivering;
    /** The reader has heard the end, or has left. */
    private boolean ended;

    WorkerExchange(Terms terms, EventLines lines, AnswerCheck check, WorkerFailures failures,
            Subscriber<? super GenerateEvent> reader) {
        this.terms = terms;
        this.lines = lines;
        this.check = check;
        this.failures = failures;
        this.reader = reader;
    }

    /** @param http knows the address and what to say in the headers */
    void start(HttpClient.RequestSender http) {
        reader.onSubscribe(this);
        if (cancelled) {
            return;
        }
        http.send((_, outbound) -> send(outbound))
                .responseConnection((response, connection) -> {
                    status = response.status().code();
                    connection.inbound().receive().subscribe(body);
                    proceed();
                    return Mono.empty();
                })
                .subscribe(null, this::broken);
    }

    @Override
    public void request(long count) {
        if (Operators.validate(count)) {
            demand.accumulateAndGet(count, Operators::addCap);
            onEventLoop(this::proceed);
        }
    }

    @Override
    public void cancel() {
        cancelled = true;
        onEventLoop(this::leave);
    }

    /** Without a connection yet there is nothing to do: who makes one looks at what was written before. */
    private void onEventLoop(Runnable task) {
        Held now = held;
        if (now == null) {
            return;
        }
        if (now.loop().inEventLoop()) {
            task.run();
        } else {
            now.loop().execute(task);
        }
    }

    /** Called again, with another connection, if the first was found broken before anything was sent. */
    private Publisher<Void> send(NettyOutbound outbound) {
        stopTicker();
        outbound.withConnection(this::hold);
        if (cancelled) {
            leave();
            return Mono.never();
        }
        return outbound.send(Mono.fromSupplier(() -> Unpooled.wrappedBuffer(terms.body())));
    }

    private void hold(Connection connection) {
        var now = new Held(connection, connection.channel().eventLoop());
        held = now;
        ticker = now.loop().scheduleWithFixedDelay(
                () -> tick(now), TICK.toMillis(), TICK.toMillis(), TimeUnit.MILLISECONDS);
    }

    /** The answer's bytes. One buffer at a time is asked for, and only when all that has arrived is delivered. */
    private final class Body extends BaseSubscriber<ByteBuf> {

        private boolean asked;
        private boolean over;

        @Override
        protected void hookOnSubscribe(Subscription subscription) {
            // proceed() asks
        }

        void ask() {
            if (!asked && !over && upstream() != null) {
                asked = true;
                request(1);
            }
        }

        @Override
        protected void hookOnNext(ByteBuf bytes) {
            asked = false;
            if (ended) {
                afterTheEnd(bytes);
            } else if (status == OK) {
                readEvents(bytes);
            } else {
                readProblem(bytes);
            }
            proceed();
        }

        @Override
        protected void hookOnComplete() {
            over = true;
            proceed();
        }

        @Override
        protected void hookOnError(Throwable error) {
            over = true;
            broken(error);
        }
    }

    private void readEvents(ByteBuf bytes) {
        try {
            lines.accept(bytes, this::arrive);
        } catch (EventLines.BadLineException e) {
            giveUp(new InvalidAnswer(terms.worker().id(), e.getMessage()));
        }
    }

    private void arrive(GenerateEvent event) {
        if (ended) {
            return;
        }
        quietTicks = 0;
        hasToken = true;
        String fault = check.faultOf(event);
        if (fault == null) {
            arrived.add(event);
        } else {
            giveUp(new InvalidAnswer(terms.worker().id(), fault));
        }
    }

    private void readProblem(ByteBuf bytes) {
        try {
            bytes.readBytes(problem, Math.min(bytes.readableBytes(), MAX_PROBLEM_BYTES - problem.size()));
        } catch (IOException e) {
            throw new UncheckedIOException("memory cannot fail", e);
        }
    }

    /** Whoever goes on after the end is not to be asked on this connection again. */
    private void afterTheEnd(ByteBuf bytes) {
        if (bytes.isReadable()) {
            close();
        }
    }

    /** Delivers what may be, ends what has ended, and asks for more if the reader waits for it. */
    private void proceed() {
        deliver();
        if (ended) {
            if (body.over) {
                stopTicker();
            }
            body.ask();
        } else if (arrived.isEmpty()) {
            if (body.over) {
                end(status == OK ? new DispatchException(lost("the answer ended early"))
                        : failures.refusal(terms.worker(), status, problem.toByteArray()));
            } else if (demand.get() > 0 || status != OK || check.isOver()) {
                body.ask();
            }
        }
    }

    private void deliver() {
        if (delivering) {
            return;                                                // the reader asks for more while it is given something
        }
        delivering = true;
        try {
            while (!ended && !arrived.isEmpty() && demand.get() > 0) {
                if (demand.get() != Long.MAX_VALUE) {
                    demand.decrementAndGet();
                }
                deliver(arrived.remove());
            }
        } finally {
            delivering = false;
        }
    }

    private void deliver(GenerateEvent event) {
        reader.onNext(event);
        if (ended) {
            return;                                                // it left
        }
        if (check.isOver() && arrived.isEmpty()) {
            ended = true;
            quietTicks = 0;
            reader.onComplete();
        } else if (event instanceof GenerateEvent.Tokens tokens) {
            stopIfEnough(tokens.index());
        }
    }

    private void stopIfEnough(int choice) {
        if (!check.isOver(choice) && !stopped.get(choice) && terms.enough().test(choice)) {
            stopped.set(choice);
            terms.stop().accept(choice);
        }
    }

    private void tick(Held ticking) {
        if (ticking != held) {
            return;
        }
        if (!knownGone && terms.worker().isGone()) {
            knownGone = true;
            quietTicks = 0;
        }
        boolean over = ended || check.isOver();
        boolean held = !knownGone && terms.worker().isHeld();
        boolean waiting = over || !held && arrived.isEmpty() && demand.get() > 0;
        Duration quiet = TICK.multipliedBy(waiting ? ++quietTicks : (quietTicks = 0));
        if (over) {
            if (quiet.compareTo(END_SILENCE) >= 0) {
                close();
            }
        } else if (knownGone && quiet.compareTo(GONE_SILENCE) >= 0) {
            giveUp(lost("it was silent and its lease ran out"));
        } else if (quiet.compareTo(longestSilence()) >= 0) {
            giveUp(new WorkerSilent(terms.worker().id(), longestSilence()));
        }
    }

    private Duration longestSilence() {
        return !hasToken ? terms.firstToken() : check.waitsOnlyFor(stopped) ? STOP_SILENCE : terms.interToken();
    }

    /** What happens to the connection after the worker's last word does not change how the answer ended. */
    private void broken(Throwable error) {
        stopTicker();
        if (!check.isOver()) {
            end(failures.of(terms.worker(), error, /* reached */ held != null));
        }
    }

    private void giveUp(DispatchFailure failure) {
        end(new DispatchException(failure));
        close();
    }

    private void end(DispatchException failure) {
        if (!ended && !cancelled) {
            ended = true;
            arrived.clear();
            reader.onError(failure);
        }
    }

    /** An answer that is all here, or all delivered, keeps its connection. */
    private void leave() {
        if (!ended) {
            ended = true;
            arrived.clear();
            if (check.isOver()) {
                proceed();
            } else {
                close();
            }
        }
    }

    /** Closes the connection if it is still ours, and lets go of what was read ahead if it is not. */
    private void close() {
        stopTicker();
        Held now = held;
        if (now != null && ChannelOperations.get(now.connection().channel()) == now.connection()) {
            now.connection().dispose();
        }
        body.ask();
    }

    private void stopTicker() {
        if (ticker != null) {
            ticker.cancel(false);
            ticker = null;
        }
    }

    private WorkerLost lost(String detail) {
        return new WorkerLost(terms.worker().id(), detail);
    }
}
