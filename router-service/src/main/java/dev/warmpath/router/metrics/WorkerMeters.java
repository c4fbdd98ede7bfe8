package dev.warmpath.router.metrics;

import dev.warmpath.router.metrics.RouterMetrics.WorkerState;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The series that have a worker's name. Those of one that has left are removed, so that a fleet which grows and shrinks
 * for weeks leaves none behind: its state at once, its attempts after some minutes, for its last failures would else be
 * gone before anybody has scraped them; at once, too, where places are short. Beyond {@link RouterMetrics#MAX_SERIES}
 * workers the attempts are counted together, and states are not told.
 */
final class WorkerMeters {

    /** Who is missing so often has left: it might have come after the states were asked for. */
    private static final int TICKS_TO_LEAVE = 2;
    private static final int TICKS_OF_ATTEMPTS = 300;

    private final RouterMetrics metrics;
    private final MeterRegistry registry;
    private final Map<String, One> workers = new HashMap<>();
    private final One others;

    WorkerMeters(RouterMetrics metrics, MeterRegistry registry) {
        this.metrics = metrics;
        this.registry = registry;
        this.others = new One(RouterMetrics.OTHER);
    }

    /** @param states of all workers that are there now, by id */
    synchronized void see(Map<String, WorkerState> states) {
        workers.forEach((id, one) -> one.isThere(states.containsKey(id)));
        int ticks = workers.size() < RouterMetrics.MAX_SERIES ? TICKS_OF_ATTEMPTS : TICKS_TO_LEAVE;
        workers.values().removeIf(one -> one.isForgotten(ticks));
        states.forEach((id, state) -> of(id).is(state));
    }

    synchronized void attemptEnded(String id, String outcome) {
        of(id).attempts(outcome).increment();
    }

    private One of(String id) {
        One known = workers.get(id);
        if (known == null && workers.size() < RouterMetrics.MAX_SERIES) {
            known = new One(id);
            workers.put(id, known);
        }
        return known == null ? others : known;
    }

    private final class One {

        private final String id;
        private final Map<String, Counter> attempts = new HashMap<>();
        private final List<Meter> states = new ArrayList<>();
        private volatile @Nullable WorkerState now;
        private int ticksMissing;

        One(String id) {
            this.id = id;
        }

        void is(WorkerState state) {
            if (this == others) {
                return;
            }
            now = state;
            if (states.isEmpty()) {
                for (WorkerState each : WorkerState.values()) {
                    states.add(metrics.watch(RouterMeter.WORKER_STATE, () -> now == each ? 1 : 0,
                            "worker", id, "state", RouterMetrics.tag(each)));
                }
            }
        }

        Counter attempts(String outcome) {
            return attempts.computeIfAbsent(outcome, _ -> metrics.counter(
                    RouterMeter.WORKER_ATTEMPTS, "worker", id, "outcome", outcome));
        }

        void isThere(boolean there) {
            ticksMissing = there ? 0 : ticksMissing + 1;
            if (ticksMissing == TICKS_TO_LEAVE) {
                states.forEach(registry::remove);
                states.clear();
            }
        }

        /** True if it has been missing for so long; then it has left no series behind. */
        boolean isForgotten(int ticks) {
            if (ticksMissing < ticks) {
                return false;
            }
            attempts.values().forEach(registry::remove);
            return true;
        }
    }
}
