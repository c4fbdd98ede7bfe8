package dev.warmpath.planner.replay;

import java.util.HashMap;
import java.util.Map;

/** How often each worker was chosen. Of more than ten thousand names, which no fleet has, the others are one. */
final class PerWorker {

    private static final int MOST = 10_000;
    private static final String OTHERS = "";

    private final Map<String, Long> counts = new HashMap<>();

    /** It was chosen so many times. @param times 0: it could have been */
    void add(String worker, long times) {
        counts.merge(counts.size() < MOST || counts.containsKey(worker) ? worker : OTHERS, times, Long::sum);
    }

    /** Choices of the most chosen one over those of the average one; 1 if there are none. */
    double mostOverMean() {
        double mean = counts.values().stream().mapToLong(Long::longValue).average().orElse(0);
        return mean == 0 ? 1 : counts.values().stream().mapToLong(Long::longValue).max().orElse(0) / mean;
    }
}
