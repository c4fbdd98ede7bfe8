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
        long[] paces = known(workers, WorkerHealth::paceNanos);
        long typicalPace = paces.length == 0 ? RecentSamples.UNKNOWN : lowerMedian(paces);
        long longestPace = limit(paces, slowFactor);
        long longestStep = limit(known(workers, WorkerHealth::stepNanos), slowFactor);
        for (WorkerHealth each : workers) {
            each.expectFaultShare(leastFaultShare);
            each.expectPace(typicalPace);
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

    /** Those that are known, the least first. */
    private static long[] known(List<WorkerHealth> workers, ToLongFunction<WorkerHealth> typical) {
        return workers.stream().mapToLong(typical).filter(nanos -> nanos >= 0).sorted().toArray();
    }

    private static long lowerMedian(long[] sorted) {
        return sorted[(sorted.length - 1) / 2];
    }

    private static long limit(long[] known, double slowFactor) {
        return known.length < FEWEST_WORKERS ? Long.MAX_VALUE : (long) (slowFactor * lowerMedian(known));
    }
}
