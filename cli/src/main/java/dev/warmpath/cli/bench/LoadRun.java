package dev.warmpath.cli.bench;

import dev.warmpath.workload.Session;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.PriorityBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One run: a load's sessions are sent turn after turn, until as many requests have been sent or as much time has passed
 * as was wanted. A session whose turn has failed is given up.
 *
 * <p>Requests of an open loop are measured from the moment at which they were due, not from that at which they could be
 * sent: what waits in the bench itself counts against the server that made it wait.
 */
final class LoadRun {

    /** A server that is so far behind is not helped by more; each has a connection. */
    static final int MOST_CLIENTS = 4_096;
    /** A client whose request failed does not try the next one at once. */
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final OpenAiServer server;
    private final Served served;
    private final Load load;
    private final Scale scale;
    private final Plan plan;
    private final Measurements measurements;
    private final LongSupplier nanoTime;
    private final AtomicLong sent = new AtomicLong();
    /** Sessions of an open loop that are under way or think. */
    private final Semaphore places = new Semaphore(MOST_CLIENTS);
    private final Queue<Thinking> thinking = new PriorityBlockingQueue<>(16,
            Comparator.comparingLong(Thinking::untilNanos));
    private volatile boolean stopped;
    private volatile long deadlineNanos;

    /**
     * What is wanted.
     *
     * @param requests at most so many, those of the warm-up among them
     * @param duration no new ones after it; null: as long as it takes
     * @param warmUp   so many first ones are not measured
     */
    record Plan(Pace pace, long requests, @Nullable Duration duration, long warmUp, long seed) {}

    private record Thinking(Conversation conversation, long untilNanos) {}

    LoadRun(OpenAiServer server, Served served, Load load, Scale scale, Plan plan, Measurements measurements,
            LongSupplier nanoTime) {
        this.server = server;
        this.served = served;
        this.load = load;
        this.scale = scale;
        this.plan = plan;
        this.measurements = measurements;
        this.nanoTime = nanoTime;
    }

    /** Returns when the last answer has ended. */
    void run() throws InterruptedException {
        long begin = nanoTime.getAsLong();
        deadlineNanos = plan.duration == null ? Long.MAX_VALUE : begin + plan.duration.toNanos();
        switch (plan.pace) {
            case Pace.Clients clients -> together(clients.count());
            case Pace.AtRandom random -> atRandom(random.perSecond(), begin);
            case Pace.Recorded recorded -> asRecorded(recorded.speed(), begin);
        }
    }

    private void together(int count) throws InterruptedException {
        List<Thread> clients = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            clients.add(Thread.startVirtualThread(this::takeSessions));
        }
        for (Thread client : clients) {
            client.join();
        }
    }

    /** Nothing new is sent. */
    void stop() {
        stopped = true;
    }

    private boolean isOver() {
        return stopped || sent.get() >= plan.requests || nanoTime.getAsLong() - deadlineNanos >= 0;
    }

    private void takeSessions() {
        @Nullable Conversation conversation;
        while ((conversation = begun()) != null) {
            do {
                long number = sent.incrementAndGet();
                if (number > plan.requests || !turn(conversation, /* dueNanos */ 0, number > plan.warmUp)) {
                    break;
                }
            } while (goesOn(conversation) && !isOver());
        }
    }

    /** @return null when the load, or the run, is at its end */
    private @Nullable Conversation begun() {
        @Nullable Session session;
        while (!isOver() && (session = load.next()) != null) {
            var conversation = new Conversation(session, served, scale, plan.seed);
            if (goesOn(conversation)) {
                return conversation;
            }
        }
        return null;
    }

    /** Whether there is a next turn, and room for it. */
    private boolean goesOn(Conversation conversation) {
        if (!conversation.isOver() && !conversation.fits()) {
            measurements.leftOut(conversation.turnsLeft());
            return false;
        }
        return !conversation.isOver();
    }

    private void atRandom(double perSecond, long begin) {
        var random = new SplittableRandom(plan.seed);
        try (var clients = Executors.newVirtualThreadPerTaskExecutor()) {          // closed when all have ended
            for (double at = 0; !isOver(); at += -Math.log(1 - random.nextDouble()) / perSecond) {
                long due = begin + (long) (at * 1e9);
                sleepUntil(due);
                if (isOver()) {
                    return;
                }
                @Nullable Conversation next = ready();
                if (next == null && !places.tryAcquire()) {
                    notSent(due);
                } else if (next != null || (next = begun()) != null) {
                    send(clients, next, due);
                }
            }
        }
    }

    private void asRecorded(double speed, long begin) {
        long first = -1;
        try (var clients = Executors.newVirtualThreadPerTaskExecutor()) {
            @Nullable Conversation next;
            while ((next = begun()) != null) {
                first = first < 0 ? next.startMicros() : first;
                long due = begin + (long) ((next.startMicros() - first) * 1_000 / speed);
                sleepUntil(due);
                if (isOver()) {
                    return;
                }
                if (places.tryAcquire()) {
                    send(clients, next, due);
                } else {
                    notSent(due);
                }
            }
        }
    }

    /** @return the one that has been ready longest for its next turn; null: all of them think */
    private @Nullable Conversation ready() {
        @Nullable Thinking first = thinking.peek();
        if (first == null || first.untilNanos - nanoTime.getAsLong() > 0) {
            return null;
        }
        return thinking.remove().conversation;                     // if another one came before it, that is ready, too
    }

    private void send(Executor clients, Conversation conversation, long due) {
        long number = sent.incrementAndGet();
        clients.execute(() -> {
            if (turn(conversation, due, number > plan.warmUp) && goesOn(conversation)) {
                thinking.add(new Thinking(conversation,
                        nanoTime.getAsLong() + TimeUnit.MICROSECONDS.toNanos(conversation.thinkMicros())));
            } else {
                places.release();
            }
        });
    }

    private void notSent(long due) {
        sent.incrementAndGet();
        measurements.due(due);
        measurements.failed(new RequestFailedException(RequestFailedException.NOT_SENT, MOST_CLIENTS
                + " sessions were under way"), due, due);
    }

    /** @return whether it was answered @param dueNanos 0: as soon as can be */
    private boolean turn(Conversation conversation, long dueNanos, boolean measured) {
        var request = conversation.request();
        long sentNanos = nanoTime.getAsLong();
        long start = dueNanos == 0 ? sentNanos : dueNanos;
        if (measured && dueNanos != 0) {
            measurements.due(dueNanos);
            measurements.sent(dueNanos, sentNanos);
        }
        try {
            Answer answer = server.complete(request);
            conversation.answered(answer);
            if (measured) {
                measurements.answered(answer, start);
            }
            return true;
        } catch (RequestFailedException e) {
            if (stopped) {
                return false;                                      // it was cut off with the run
            }
            if (measured) {
                measurements.failed(e, start, nanoTime.getAsLong());
            }
            measurements.abandoned(conversation.turnsLeft() - 1);
            if (dueNanos == 0) {
                LockSupport.parkNanos(PAUSE_NANOS);
            }
            return false;
        } finally {
            if (!measured) {
                measurements.warmedUp();
            }
        }
    }

    private void sleepUntil(long dueNanos) {
        long left;
        while (!isOver() && (left = Math.min(dueNanos, deadlineNanos) - nanoTime.getAsLong()) > 0) {
            LockSupport.parkNanos(Math.min(left, PAUSE_NANOS));
        }
    }
}
