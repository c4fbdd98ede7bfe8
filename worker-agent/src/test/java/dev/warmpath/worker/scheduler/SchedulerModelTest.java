package dev.warmpath.worker.scheduler;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.worker.scheduler.RandomScheduling.Seen;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Many small random worlds, see {@link RandomScheduling}. One of them is replayed with {@code -Dscheduler.seed=n}. */
class SchedulerModelTest {

    private static final String SEED = "scheduler.seed";

    @Test
    void every_request_ends_no_block_stays_held_and_what_is_announced_is_there() {
        run(0, 2_500);
    }

    @Test
    @Tag("full")
    void the_same_in_ten_times_as_many_worlds() {
        run(100_000, 25_000);
    }

    private static void run(long firstSeed, int worlds) {
        Long only = Long.getLong(SEED);
        if (only != null) {
            run(only);
            return;
        }
        Seen seen = Seen.NOTHING;
        for (long seed = firstSeed; seed < firstSeed + worlds; seed++) {
            seen = seen.plus(run(seed));
        }
        // what is hard to reach was reached often
        assertThat(seen.operations()).as("operations").isGreaterThan(200L * worlds);
        assertThat(seen.recomputed()).as("pools were tight").isGreaterThan(worlds);
        assertThat(seen.swapped()).as("swap space was used").isGreaterThan(worlds / 2);
        assertThat(seen.hitTokens()).as("prefixes were shared").isGreaterThan(10L * worlds);
        assertThat(seen.resets()).as("resets").isGreaterThan(worlds);
        assertThat(seen.failures()).as("failed by a step").isGreaterThan(worlds / 2);
        assertThat(seen.unusableRows()).as("failed by a row").isGreaterThan(worlds / 2);
        assertThat(seen.copiesOnWrite()).as("forks that wrote").isGreaterThan(worlds / 2);
        assertThat(seen.expired()).as("expired").isGreaterThan(worlds / 4);
        assertThat(seen.cancelled()).as("cancelled").isGreaterThan(worlds);
        assertThat(seen.announced()).as("announcements").isGreaterThan(10L * worlds);
    }

    private static Seen run(long seed) {
        var world = new RandomScheduling(seed);
        try {
            return world.run();
        } catch (AssertionError | RuntimeException e) {
            throw new AssertionError("seed " + seed + ", " + world + "; to replay: mvn -B -q -pl worker-agent -am test"
                    + " -Dtest=SchedulerModelTest -Dsurefire.failIfNoSpecifiedTests=false -D" + SEED + "=" + seed, e);
        }
    }
}
