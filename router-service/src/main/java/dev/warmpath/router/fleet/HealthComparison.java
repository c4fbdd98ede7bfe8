package dev.warmpath.router.fleet;

import java.util.Comparator;
import java.util.List;
import java.util.function.ToLongFunction;

/**
 * Holds the workers of one revision against each other: tells each what can be expected of it, and ejects those that
 * are far slower than the others. What is slow is the fleet's median times a factor; at least three workers must be
 * known for it, and while a quarter of the revision is out, for whatever reason, no slow one goes.
 */
final class HealthComparison {

    private static final int FEWEST_WORKERS = 3;
    private static final int LARGEST_SHARE = 4;

    private HealthComparison() {}

    /** @param slowFactor how many times the median is slow, above 1 */
    static void of(List<WorkerHealth> workers, double slowFactor, long nowNanos) {
        double leastFaultShare = workers.stream().mapToDouble(each -> each.faultShare(nowNanos)).min().orElse(0);
        long longestPace = limit(workers, WorkerHealth::paceNanos, slowFactor);
        long longestStep = limit(workers, WorkerHealth::stepNanos, slowFactor);
        for (WorkerHealth each : workers) {
            each.expectFaultShare(leastFaultShare);
            each.expectSpeed(longestPace, longestStep);
        }
        ejectSlow(workers, nowNanos);
    }

    private static void ejectSlow(List<WorkerHealth> workers, long nowNanos) {
        long out = workers.stream().filter(WorkerHealth::isEjected).count();
        long room = Math.max(1, workers.size() / LARGEST_SHARE) - out;
        workers.stream().filter(WorkerHealth::isSlow)
                .sorted(Comparator.comparingLong(WorkerHealth::paceNanos).reversed())
                .limit(Math.max(0, room))
                .forEach(each -> each.ejectIfSlow(nowNanos));
    }

    /** The lower median of those that are known, times the factor. */
    private static long limit(List<WorkerHealth> workers, ToLongFunction<WorkerHealth> typical, double slowFactor) {
        long[] known = workers.stream().mapToLong(typical).filter(nanos -> nanos >= 0).sorted().toArray();
        return known.length < FEWEST_WORKERS ? Long.MAX_VALUE
                : (long) (slowFactor * known[(known.length - 1) / 2]);
    }
}
