package dev.warmpath.router.completion;

import dev.warmpath.protocol.process.ProcessEnd;
import dev.warmpath.router.admission.AdmissionControl;
import dev.warmpath.router.dispatch.DispatchException;
import dev.warmpath.router.dispatch.DispatchFailure.RouterStopping;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.SmartLifecycle;
import org.springframework.stereotype.Component;

/**
 * The end of a router that is told to stop, while everything in it still works:
 * <pre>
 * readiness 503 → settle: takes what still comes → finish: refuses it → whoever is left is told → servers close
 *                 and ends unused connections
 * </pre>
 * Readiness goes first, by Spring Boot, and whatever is answered from then on asks its client to close the connection;
 * so a load balancer that asks has nobody left here when new requests are refused. Heartbeats are answered until the
 * end: a worker whose lease runs out would take its answers along.
 */
@Component
public final class RouterDrain implements SmartLifecycle {

    private static final Logger log = LoggerFactory.getLogger(RouterDrain.class);
    private static final Duration CHECK_INTERVAL = Duration.ofMillis(20);

    private final AdmissionControl admission;
    private final DrainProperties properties;
    private final List<SettlingStep> lastOfSettling = new CopyOnWriteArrayList<>();
    /** Answers that go on; a set that takes and gives in no time, whatever their number. */
    private final Set<UntilCut> answers = ConcurrentHashMap.newKeySet();
    private volatile boolean isCut;
    private volatile Stage stage = Stage.STOPPED;

    private enum Stage {STOPPED, OPEN, SETTLING, FINISHING}

    /** What is to be done when the settle time is over, before the first request is refused. */
    @FunctionalInterface
    public interface SettlingStep {
        /** @param patience bounds how long it takes */
        void run(Duration patience) throws InterruptedException;
    }

    RouterDrain(AdmissionControl admission, DrainProperties properties) {
        this.admission = admission;
        this.properties = properties;
    }

    /** True from the moment that this router is told to stop. */
    public boolean hasBegun() {
        return stage == Stage.SETTLING || stage == Stage.FINISHING;
    }

    /** True once new requests are too late. */
    public boolean isOverForNewRequests() {
        return stage == Stage.FINISHING;
    }

    /** Requests that come while the step runs are answered. */
    public void endSettlingWith(SettlingStep step) {
        lastOfSettling.add(step);
    }

    /** The answer is cut if it has to end before it is over; one that begins so late has to ask {@link #cutIfLate}. */
    void begins(UntilCut answer) {
        answers.add(answer);
    }

    void cutIfLate(UntilCut answer) {
        if (isCut) {
            answer.cut(stopping());
        }
    }

    void isOver(UntilCut answer) {
        answers.remove(answer);
    }

    private static DispatchException stopping() {
        return new DispatchException(new RouterStopping());
    }

    /** Once: who has drained stays so. */
    @Override
    public void start() {
        stage = stage == Stage.STOPPED ? Stage.OPEN : stage;
    }

    @Override
    public void stop() {
        try {
            stage = Stage.SETTLING;
            Thread.sleep(properties.settle());
            long finishNanos = System.nanoTime();
            for (SettlingStep step : lastOfSettling) {
                run(step, leftSince(finishNanos));
            }
            stage = Stage.FINISHING;
            awaitAnswers(finishNanos);
        } catch (InterruptedException _) {
            // ends the waiting, and only that: servers that stop next turn in circles on an interrupted thread
        }
        stage = Stage.FINISHING;
        int left = admission.inFlight();
        if (left > 0) {
            log.warn("{} answers have not ended within {} ms and are cut", left, properties.timeout().toMillis());
        }
        isCut = true;
        answers.forEach(answer -> answer.cut(stopping()));
    }

    /** A step that fails costs what it would have done, and nothing that comes after it. */
    private static void run(SettlingStep step, Duration patience) throws InterruptedException {
        try {
            step.run(patience);
        } catch (RuntimeException | Error e) {
            ProcessEnd.rethrowIfFatal(e);
            log.warn("A step at the end of settling has failed, the router goes on to its end", e);
        }
    }

    private void awaitAnswers(long sinceNanos) throws InterruptedException {
        while (admission.inFlight() > 0 && leftSince(sinceNanos).isPositive()) {
            Thread.sleep(CHECK_INTERVAL);
        }
    }

    /** Of the one timeout that steps and answers share: the process's end counts on it. Never negative. */
    private Duration leftSince(long nanos) {
        return Duration.ofNanos(Math.max(0, properties.timeout().toNanos() - (System.nanoTime() - nanos)));
    }

    @Override
    public boolean isRunning() {
        return stage == Stage.OPEN;
    }

    /** A pause is no end. */
    @Override
    public boolean isPauseable() {
        return false;
    }

    /** First of all: the servers, and all that answers need, stop after it. */
    @Override
    public int getPhase() {
        return SmartLifecycle.DEFAULT_PHASE;
    }
}
