package dev.warmpath.worker.kvcache;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Many small random worlds ({@link CacheWorld}), everything checked after every operation. Each is drawn from its seed;
 * {@code -Dkvcache.seed=n} runs that one alone.
 */
class KvCacheModelTest {

    private static final String SEED = "kvcache.seed";
    private static final int OPERATIONS_PER_WORLD = 5_000;

    @Test
    void a_million_operations_agree_with_an_obvious_model() {
        run(1, 200);
    }

    @Test
    @Tag("full")
    void ten_million_operations_agree_with_an_obvious_model() {
        run(1_000, 2_000);
    }

    private static void run(long firstSeed, int worlds) {
        Long only = Long.getLong(SEED);
        if (only != null) {
            run(only);
            return;
        }
        long hits = 0;
        long refusals = 0;
        long swapsIn = 0;
        long copiesOnWrite = 0;
        long forks = 0;
        long loads = 0;
        long evictions = 0;
        long invalidations = 0;
        for (long seed = firstSeed; seed < firstSeed + worlds; seed++) {
            CacheWorld world = run(seed);
            hits += world.hits;
            refusals += world.refusals;
            swapsIn += world.swapsIn;
            copiesOnWrite += world.copiesOnWrite;
            forks += world.forks;
            loads += world.loads;
            evictions += world.evictions;
            invalidations += world.invalidations;
        }
        // what is hard to reach was reached often
        assertThat(hits).as("blocks hit").isGreaterThan(100L * worlds);
        assertThat(refusals).as("refusals").isGreaterThan(100L * worlds);
        assertThat(swapsIn).as("swapped in").isGreaterThan(5L * worlds);
        assertThat(copiesOnWrite).as("copies on write").isGreaterThan(20L * worlds);
        assertThat(forks).as("forks").isGreaterThan(20L * worlds);
        assertThat(loads).as("delayed loads").isGreaterThan(10L * worlds);
        assertThat(evictions).as("blocks evicted by name").isGreaterThan(50L * worlds);
        assertThat(invalidations).as("invalidated sequences").isGreaterThan(10L * worlds);
    }

    private static CacheWorld run(long seed) {
        var world = new CacheWorld(seed);
        for (int i = 0; i < OPERATIONS_PER_WORLD; i++) {
            try {
                world.operate();
                world.check();
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError("operation " + i + " of seed " + seed + "; to replay: mvn -B -q -pl worker-agent"
                        + " -am test -Dtest=KvCacheModelTest -Dsurefire.failIfNoSpecifiedTests=false -D" + SEED + "="
                        + seed, e);
            }
        }
        return world;
    }
}
