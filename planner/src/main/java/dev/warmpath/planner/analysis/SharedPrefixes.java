package dev.warmpath.planner.analysis;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Which beginnings most requests have in common, as far as half a million blocks tell: when there are more, those that
 * were used least are forgotten, so that counts may be too small, and never too large.
 */
final class SharedPrefixes {

    private static final int MOST = 500_000;
    /** A longer beginning that nearly as many have stands for the shorter one. */
    private static final double NEARLY = 0.98;

    private Map<Long, Use> uses = new HashMap<>();

    private static final class Use {
        private final long before;
        private final int blocks;
        private long requests;

        private Use(long before, int blocks, long requests) {
            this.before = before;
            this.blocks = blocks;
            this.requests = requests;
        }
    }

    /** A beginning. @param blocks that it has. @param requests that begin so */
    record Shared(int blocks, long requests) {}

    /**
     * A request whose leading blocks have been used before.
     *
     * @param keys of its blocks. @param seen how many leading ones others have had
     */
    void add(long[] keys, int seen) {
        for (int i = 0; i < seen; i++) {
            Use use = uses.get(keys[i]);
            if (use == null) {
                use = new Use(i == 0 ? 0 : keys[i - 1], i + 1, /* whoever had it first */ 1);
                uses.put(keys[i], use);
            }
            use.requests++;
        }
        if (uses.size() > MOST) {
            for (long least = 2; uses.size() > MOST / 2; least++) {   // to half: it takes a look at all of them
                forget(least);
            }
        }
    }

    private void forget(long requests) {
        Map<Long, Use> kept = new HashMap<>();
        uses.forEach((key, use) -> {
            if (use.requests > requests) {
                kept.put(key, use);
            }
        });
        uses = kept;
    }

    /** Those that save most, each as long as nearly all of its requests have it in common. */
    List<Shared> most(int count) {
        Set<Long> within = new HashSet<>();
        uses.forEach((_, use) -> {
            Use before = use.blocks == 1 ? null : uses.get(use.before);
            if (before != null && use.requests >= before.requests * NEARLY) {
                within.add(use.before);
            }
        });
        List<Shared> all = new ArrayList<>();
        uses.forEach((key, use) -> {
            if (!within.contains(key)) {
                all.add(new Shared(use.blocks, use.requests));
            }
        });
        all.sort(Comparator.comparingLong((Shared shared) -> -shared.blocks * (shared.requests - 1))
                .thenComparingInt(Shared::blocks));
        return List.copyOf(all.subList(0, Math.min(count, all.size())));
    }
}
