package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.acceptance.IndexWorld.Event;
import dev.warmpath.acceptance.IndexWorld.Reached;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Whatever the wire does between workers and a router, in the end the index is the union of what the workers announce,
 * and a match is what counting block by block would find. Each sequence ({@link IndexWorld}: 20 to 60 events at three
 * workers) is drawn from its number; {@code -Dindex.seed=n} runs that one alone.
 */
class IndexConvergenceTest {

    private static final String SEED = "index.seed";

    @Test
    void fifty_thousand_event_sequences_end_with_the_union_of_the_announced_sets() {
        run(1, 50_000);
    }

    @Test
    @Tag("full")
    void a_million_event_sequences_end_with_the_union_of_the_announced_sets() {
        run(100_001, 1_000_000);
    }

    private static void run(long firstSeed, int sequences) {
        var reached = new Reached();
        Long only = Long.getLong(SEED);
        if (only != null) {
            run(only, reached);
            return;
        }
        for (long seed = firstSeed; seed < firstSeed + sequences; seed++) {
            run(seed, reached);
        }
        // what is hard to reach was reached often
        assertThat(reached.events).hasSize(Event.values().length);
        assertThat(reached.repeated).as("batches repeated").isGreaterThan(sequences);
        assertThat(reached.gaps).as("gaps").isGreaterThan(sequences / 2);
        assertThat(reached.drifts).as("drifts").isGreaterThan(sequences / 50);
        assertThat(reached.strangers).as("batches of strangers").isGreaterThan(sequences / 20);
        assertThat(reached.overdue).as("lost tails").isGreaterThan(sequences / 2);
    }

    private static void run(long seed, Reached reached) {
        try {
            new IndexWorld(seed, reached).run();
        } catch (AssertionError | RuntimeException e) {
            throw new AssertionError("sequence " + seed + ": " + e.getMessage() + "\nTo see it alone: mvn -B -pl "
                    + "acceptance -am test -Dtest=IndexConvergenceTest -Dsurefire.failIfNoSpecifiedTests=false -D"
                    + SEED + "=" + seed, e);
        }
    }
}
