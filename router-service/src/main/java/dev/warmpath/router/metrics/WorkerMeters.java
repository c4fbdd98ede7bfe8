package dev.warmpath.router.metrics;

import dev.warmpath.router.metrics.RouterMetrics.WorkerState;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The series that have a worker's name. Those of one that has left are removed, so that a fleet which grows and shrinks
 * for weeks leaves none behind; beyond {@link RouterMetrics#MAX_SERIES} workers the attempts are counted together, and
 * states are not told.
 */
final class WorkerMeters {

    private final RouterMetrics metrics;
    private final MeterRegistry registry;
    private final Map<String, One> workers = new HashMap<>();
    private final One others;

    WorkerMeters(RouterMetrics metrics, MeterRegistry registry) {
        this.metrics = metrics;
        this.registry = registry;
        this.others = new One(RouterMetrics.OTHER);
    }

    /**
     * Who is missing for the second time has left.
     *
     * @param states of all workers that are there now, by id
     */
    synchronized void see(Map<String, WorkerState> states) {
        for (Iterator<Map.Entry<String, One>> known = workers.entrySet().iterator(); known.hasNext();) {
            Map.Entry<String, One> each = known.next();
            if (states.containsKey(each.getKey())) {
                each.getValue().wasMissing = false;
            } else if (each.getValue().wasMissing) {
                each.getValue().remove();
                known.remove();
            } else {
                each.getValue().wasMissing = true;                 // or came after the states were asked for
            }
        }
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
        private boolean wasMissing;

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

        void remove() {
            states.forEach(registry::remove);
            attempts.values().forEach(registry::remove);
        }
    }
}
