package dev.warmpath.router.admission;

import dev.warmpath.protocol.process.ProcessEnd;
import dev.warmpath.router.metrics.RouterMeter;
import dev.warmpath.router.metrics.RouterMetrics;
import dev.warmpath.router.metrics.RouterMetrics.Limit;
import dev.warmpath.router.models.ServedModel;
import dev.warmpath.router.routing.RequestRouter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.stereotype.Component;

/**
 * Where requests wait when the workers have all that they can compute: a line for each revision, first come, first
 * served. Workers get little more than they compute at the same time, so that their batches stay full, and a request
 * chooses its worker when its turn comes, by what is known then.
 *
 * <p>Work is counted in prompt tokens that no cache holds, and {@value #TOKENS_PER_ANSWER} for the answer. A line
 * learns at what rate work leaves it; the work in it over that rate is how long a newcomer would wait. One that would
 * wait too long is refused at once, and so is one that waits already as soon as its turn cannot come in time. As long as
 * nothing has left a line nobody knows, and only {@link AdmissionControl} bounds it.
 *
 * <p>Whether there is room is asked of the books that routing keeps, so a place is nothing that could be lost here:
 * giving one back only makes the line look again, as a clock does every {@value #TICK_MILLIS} ms. Safe for use by
 * several threads; whoever gives a place back runs what the next one does first.
 */
@Component
public final class WaitingRoom implements AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(WaitingRoom.class);
    /** A short answer's worth of steps, as in the cost of a worker without a free slot. */
    private static final int TOKENS_PER_ANSWER = 512;
    private static final int TICK_MILLIS = 50;
    /** Lines of revisions that are long gone give way. */
    private static final int MAX_IDLE_LINES = 64;
    /** Of what is known about a line's rate, after another one has left it: some 32 departures count. */
    private static final double KEPT = 31.0 / 32;
    /** Of the longest wait; an estimate may be off by so much before a request that was let in is sent away. */
    private static final double GRACE = 2;
    /** Whoever is next stays: its turn comes with the first prompt that is computed, and that may be a long one. */
    private static final long LONGEST_AS_NEXT_NANOS = TimeUnit.MINUTES.toNanos(1);

    private final ToIntFunction<ServedModel> room;
    private final long maxWaitNanos;
    private final LongSupplier nanoTime;
    private final RouterMetrics metrics;
    private final Map<String, Line> lines = new LinkedHashMap<>();
    private final @Nullable Thread clock;

    @Autowired
    WaitingRoom(AdmissionProperties properties, RequestRouter router, RouterMetrics metrics) {
        this(router::room, properties.maxWait(), System::nanoTime, metrics, true);
    }

    /**
     * @param room how many more requests of a revision the workers would take now
     * @param maxWait the longest wait that a newcomer may expect
     * @param nanoTime a monotonic clock, as {@link System#nanoTime}
     */
    WaitingRoom(ToIntFunction<ServedModel> room, Duration maxWait, LongSupplier nanoTime, RouterMetrics metrics) {
        this(room, maxWait, nanoTime, metrics, false);
    }

    private WaitingRoom(ToIntFunction<ServedModel> room, Duration maxWait, LongSupplier nanoTime,
            RouterMetrics metrics, boolean hasClock) {
        this.room = room;
        this.maxWaitNanos = maxWait.toNanos();
        this.nanoTime = nanoTime;
        this.metrics = metrics;
        metrics.watch(RouterMeter.WAITING_REQUESTS, this::waiting);
        this.clock = hasClock ? Thread.ofPlatform().daemon().name("waiting-room").start(this::tickOnAndOn) : null;
    }

    /** One that may go to a worker, until it is closed. Closing it again has no effect. */
    public final class Place implements AutoCloseable {

        private final Line line;

        private Place(Line line) {
            this.line = line;
        }

        @Override
        public void close() {
            drain(line);
        }
    }

    /**
     * Refuses whoever would wait too long, before anything is done for the request.
     *
     * @throws OverloadedException if so
     */
    public void refuseIfHopeless(ServedModel model) {
        Line line = line(model);
        synchronized (line) {
            refuseIfHopeless(line, nanoTime.getAsLong());
        }
    }

    /**
     * Takes a place, or waits for one.
     *
     * @param uncachedTokens of the prompt; asked only if there is a line
     * @return completes when the request's turn has come, exceptionally with {@link OverloadedException} if that would
     *         be too late. Whoever does not want to wait any more cancels it
     * @throws OverloadedException if the wait would be too long
     */
    public CompletableFuture<Place> enter(ServedModel model, LongSupplier uncachedTokens) {
        while (true) {
            Line line = line(model);
            synchronized (line) {
                if (!line.isPutAway) {
                    return enter(line, uncachedTokens);
                }
            }
        }
    }

    private CompletableFuture<Place> enter(Line line, LongSupplier uncachedTokens) {
        if (line.waiting.isEmpty() && room.applyAsInt(line.model) > 0) {
            return CompletableFuture.completedFuture(new Place(line));
        }
        long now = nanoTime.getAsLong();
        refuseIfHopeless(line, now);
        var waiting = new Waiting(uncachedTokens.getAsLong() + TOKENS_PER_ANSWER, now);
        line.join(waiting, now);
        waiting.turn.whenComplete((_, _) -> {
            if (waiting.turn.isCancelled()) {
                line.leaveEarly(waiting);
            }
        });
        return waiting.turn;
    }

    /** Requests in all lines. */
    public int waiting() {
        int sum = 0;
        for (Line line : everyLine()) {
            sum += line.size();
        }
        return sum;
    }

    /** Refuses whoever waits in vain, and lets in whom the workers would take. */
    void tick() {
        RuntimeException trouble = null;
        for (Line line : everyLine()) {
            try {
                look(line);
            } catch (RuntimeException e) {
                trouble = e;                                       // the other lines' turn comes all the same
            }
        }
        if (trouble != null) {
            throw trouble;
        }
    }

    private void look(Line line) {
        long now = nanoTime.getAsLong();
        for (Waiting late : line.removeLate(now)) {
            long waitedMillis = Duration.ofNanos(now - late.sinceNanos).toMillis();
            metrics.refusedAtTheDoor(Limit.WAIT);
            late.turn.completeExceptionally(new OverloadedException("no worker was free within " + waitedMillis
                    + " ms, and none will be soon enough", Duration.ofNanos(maxWaitNanos)));
        }
        drain(line);
    }

    @Override
    public void close() {
        if (clock != null) {
            clock.interrupt();
        }
    }

    private void tickOnAndOn() {
        while (!Thread.currentThread().isInterrupted()) {
            try {
                Thread.sleep(TICK_MILLIS);
                tick();
            } catch (InterruptedException e) {
                return;                                            // the router is closing
            } catch (RuntimeException | Error e) {
                ProcessEnd.rethrowIfFatal(e);
                log.error("looking after waiting requests failed in the router", e);
            }
        }
    }

    private void refuseIfHopeless(Line line, long now) {
        long expectedNanos = line.waiting.isEmpty() ? 0 : line.nanosFor(line.work, now);
        if (expectedNanos > maxWaitNanos) {
            metrics.refusedAtTheDoor(Limit.WAIT);
            Duration expected = Duration.ofNanos(expectedNanos);
            throw new OverloadedException("a worker would be free in " + expected.toMillis()
                    + " ms, this router lets requests wait " + Duration.ofNanos(maxWaitNanos).toMillis() + " ms",
                    expected);
        }
    }

    /** Lets in as many as the workers take. One thread a line at a time, another one's call makes it look again. */
    private void drain(Line line) {
        if (line.drains.getAndIncrement() > 0) {
            return;
        }
        int seen = 1;
        try {
            do {
                for (Waiting next = line.next(); next != null; next = line.next()) {
                    next.turn.complete(new Place(line));           // books its place with routing before it returns
                }
                seen = line.drains.addAndGet(-seen);
            } while (seen > 0);
        } catch (RuntimeException | Error e) {
            line.drains.set(0);                                    // else nobody would ever look again
            throw e;
        }
    }

    private Line line(ServedModel model) {
        synchronized (lines) {
            if (lines.size() > MAX_IDLE_LINES) {
                lines.values().removeIf(Line::putAwayIfEmpty);
            }
            return lines.computeIfAbsent(model.revision(), _ -> new Line(model));
        }
    }

    private List<Line> everyLine() {
        synchronized (lines) {
            return new ArrayList<>(lines.values());
        }
    }

    private static final class Waiting {
        private final CompletableFuture<Place> turn = new CompletableFuture<>();
        private final long work;
        private final long sinceNanos;

        Waiting(long work, long sinceNanos) {
            this.work = work;
            this.sinceNanos = sinceNanos;
        }
    }

    /** Those who wait for one revision. Its own lock guards it. */
    private final class Line {

        private final ServedModel model;
        /** In the order of their coming; whoever leaves early is taken out at once, wherever it stands. */
        private final LinkedHashSet<Waiting> waiting = new LinkedHashSet<>();
        private final AtomicInteger drains = new AtomicInteger();
        private long work;
        /** What has left while others waited, and how long that took; the older, the less it counts. */
        private double leftWork;
        private double leftNanos;
        private long lastLeftNanos;
        /** Nobody looks after it any more, so that nobody may join it. */
        private boolean isPutAway;

        Line(ServedModel model) {
            this.model = model;
        }

        synchronized int size() {
            return waiting.size();
        }

        synchronized boolean putAwayIfEmpty() {
            isPutAway = waiting.isEmpty();
            return isPutAway;
        }

        synchronized void join(Waiting newcomer, long now) {
            if (waiting.isEmpty()) {
                lastLeftNanos = now;
            }
            waiting.add(newcomer);
            work += newcomer.work;
        }

        synchronized void leaveEarly(Waiting leaver) {
            if (waiting.remove(leaver)) {
                work -= leaver.work;
            }
        }

        synchronized @Nullable Waiting next() {
            if (waiting.isEmpty() || room.applyAsInt(model) <= 0) {
                return null;
            }
            Waiting first = waiting.removeFirst();
            work -= first.work;
            long now = nanoTime.getAsLong();
            leftNanos = leftNanos * KEPT + (now - lastLeftNanos);
            leftWork = leftWork * KEPT + first.work;
            lastLeftNanos = now;
            return first;
        }

        /** How long this much work takes to leave; 0 if nothing has left yet. A line that stands grows longer. */
        long nanosFor(long tokens, long now) {
            return leftWork == 0 ? 0 : (long) (tokens * (leftNanos + (now - lastLeftNanos)) / leftWork);
        }

        synchronized List<Waiting> removeLate(long now) {
            List<Waiting> late = new ArrayList<>();
            long ahead = 0;
            for (Iterator<Waiting> each = waiting.iterator(); each.hasNext();) {
                Waiting one = each.next();
                double longest = ahead == 0 ? Math.max(LONGEST_AS_NEXT_NANOS, maxWaitNanos) : maxWaitNanos * GRACE;
                if (now - one.sinceNanos + nanosFor(ahead, now) > longest) {
                    late.add(one);
                    work -= one.work;
                    each.remove();
                } else {
                    ahead += one.work;
                }
            }
            return late;
        }
    }
}
