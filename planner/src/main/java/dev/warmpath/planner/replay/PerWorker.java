package dev.warmpath.planner.replay;

import java.util.HashMap;
import java.util.Map;

/** How often each worker was chosen. Of more than ten thousand names, which no fleet has, the others are one. */
final class PerWorker {

    private static final int MOST = 10_000;
    private static final String OTHERS = "";

    private final Map<String, Long> counts = new HashMap<>();

    void add(String worker) {
        counts.merge(counts.size() < MOST || counts.containsKey(worker) ? worker : OTHERS, 1L, Long::sum);
    }

    /** Choices of the most chosen one over those of the average one; 1 if there are none. */
    double mostOverMean() {
        double mean = counts.values().stream().mapToLong(Long::longValue).average().orElse(1);
        return counts.values().stream().mapToLong(Long::longValue).max().orElse(1) / mean;
    }
}
