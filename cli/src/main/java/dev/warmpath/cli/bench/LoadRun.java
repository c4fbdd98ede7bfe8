package dev.warmpath.cli.bench;

import dev.warmpath.workload.Session;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One run: clients, each a virtual thread, send a load's sessions turn after turn, until as many requests have been
 * sent or as much time has passed as was wanted. In a closed loop so many clients take one session after the other
 * and do not think; in an open one each session begins at its own time, whatever has become of those before.
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
    private volatile boolean stopped;
    private volatile long deadlineNanos;

    /**
     * What is wanted.
     *
     * @param concurrency clients of a closed loop; 0: an open one
     * @param rate        requests of an open loop in a second
     * @param requests    at most so many, those of the warm-up among them
     * @param duration    no new ones after it; null: as long as it takes
     * @param warmUp      so many first ones are not measured
     */
    record Plan(int concurrency, double rate, long requests, @Nullable Duration duration, long warmUp, long seed) {}

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
        if (plan.concurrency > 0) {
            List<Thread> clients = new ArrayList<>();
            for (int i = 0; i < plan.concurrency; i++) {
                clients.add(Thread.startVirtualThread(this::takeSessions));
            }
            for (Thread client : clients) {
                client.join();
            }
        } else {
            beginSessions(begin);
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
        @Nullable Session session;
        while (!isOver() && (session = load.next()) != null) {
            hold(session, /* dueNanos */ 0);
        }
    }

    private void beginSessions(long begin) throws InterruptedException {
        double slower = load.requestsPerSecond() / plan.rate;
        var places = new Semaphore(MOST_CLIENTS);
        long first = -1;
        @Nullable Session session;
        while (!isOver() && (session = load.next()) != null) {
            first = first < 0 ? session.startMicros() : first;
            long due = begin + (long) ((session.startMicros() - first) * 1_000 * slower);
            sleepUntil(due);
            if (isOver()) {
                break;
            }
            if (!places.tryAcquire()) {
                sent.incrementAndGet();
                measurements.failed(new RequestFailedException(RequestFailedException.NOT_SENT, MOST_CLIENTS
                        + " sessions were under way"), due, due);
                continue;
            }
            Session begun = session;
            Thread.startVirtualThread(() -> {
                try {
                    hold(begun, due);
                } finally {
                    places.release();
                }
            });
        }
        places.acquire(MOST_CLIENTS);
    }

    /** @param dueNanos of the first turn; 0: as soon as can be, and so are the others */
    private void hold(Session session, long dueNanos) {
        var conversation = new Conversation(session, served, scale, plan.seed);
        long due = dueNanos;
        while (!conversation.isOver() && !isOver()) {
            if (!conversation.fits()) {
                measurements.leftOut(session.turns().size() - conversation.turns());
                return;
            }
            if (due != 0 && conversation.turns() > 0) {
                due = nanoTime.getAsLong() + TimeUnit.MICROSECONDS.toNanos(conversation.thinkMicros());
                sleepUntil(due);
                if (isOver()) {
                    return;
                }
            }
            long number = sent.incrementAndGet();
            if (number > plan.requests || !turn(conversation, due, number > plan.warmUp)) {
                return;
            }
        }
    }

    /** @return whether it was answered */
    private boolean turn(Conversation conversation, long dueNanos, boolean measured) {
        var request = conversation.request();
        long sentNanos = nanoTime.getAsLong();
        long start = dueNanos == 0 ? sentNanos : dueNanos;
        try {
            Answer answer = server.complete(request);
            conversation.answered(answer);
            if (measured) {
                measurements.answered(answer, start, sentNanos);
            }
            return true;
        } catch (RequestFailedException e) {
            if (stopped) {
                return false;                                      // it was cut off with the run
            }
            if (measured) {
                measurements.failed(e, start, nanoTime.getAsLong());
            }
            LockSupport.parkNanos(dueNanos == 0 ? PAUSE_NANOS : 0);
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
