package dev.warmpath.router.health;

import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.function.ToLongFunction;

/**
 * Holds the workers of one model against each other: tells each what can be expected of it, and ejects those that are
 * far slower than the others. What is slow is the median of a revision's workers times a factor; at least three of them
 * must be known for it, and while a quarter of the revision is out, for whatever reason, no slow one goes.
 *
 * <p>How much may fail is measured by the best of those that requests can go to instead, of whichever revision; so one
 * that is broken as a whole is left out as a broken worker is. While nobody is known to be better, nobody goes.
 */
public final class HealthComparison {

    private static final int FEWEST_WORKERS = 3;
    private static final int LARGEST_SHARE = 4;
    /** Another revision of a model may be larger; what it may typically take is this many times as long. */
    private static final int OTHER_REVISION = 4;

    private static final double NOBODY_IS_BETTER = 1;

    private HealthComparison() {}

    /**
     * A revision of which no first token is known yet is expected to keep pace with the others, by and large: else its
     * first worker could be silent for as long as nobody knew better.
     *
     * @param revisions  the workers of each
     * @param open       those that new requests may go to
     * @param slowFactor how many times the median is slow, above 1
     */
    public static void of(Collection<List<WorkerHealth>> revisions, Collection<WorkerHealth> open, double slowFactor,
            long nowNanos) {
        double leastFaultShare = open.stream().filter(each -> each.isMeasure(nowNanos))
                .mapToDouble(each -> each.faultShare(nowNanos)).min().orElse(NOBODY_IS_BETTER);
        long slowest = revisions.stream().mapToLong(HealthComparison::typicalPace).max().orElse(RecentSamples.UNKNOWN);
        for (List<WorkerHealth> workers : revisions) {
            long typicalPace = typicalPace(workers);
            long longestPace = limit(known(workers, WorkerHealth::paceNanos), slowFactor);
            long longestStep = limit(known(workers, WorkerHealth::stepNanos), slowFactor);
            for (WorkerHealth each : workers) {
                each.expectFaultShare(leastFaultShare);
                each.expectPace(typicalPace >= 0 || slowest < 0 ? typicalPace : OTHER_REVISION * slowest);
                each.expectSpeed(longestPace, longestStep);
            }
            ejectSlow(workers, nowNanos);
        }
    }

    /** To a first token by the prompt token that it waited for; negative while unknown. */
    private static long typicalPace(List<WorkerHealth> workers) {
        long[] paces = known(workers, WorkerHealth::paceNanos);
        return paces.length == 0 ? RecentSamples.UNKNOWN : lowerMedian(paces);
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
