package dev.warmpath.router.fleetlink;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import dev.warmpath.router.fleetlink.IndexWorld.Event;
import dev.warmpath.router.fleetlink.IndexWorld.Reached;
import dev.warmpath.router.fleetlink.log.LogInbox;
import java.util.Map;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/**
 * Whatever the wire does between workers and a router, in the end the index is the union of what the workers announce,
 * and a match is what counting block by block would find. Each sequence ({@link IndexWorld}: 20 to 60 events at three
 * workers) is drawn from its number; {@code -Dindex.seed=n} runs that one alone.
 *
 * <p>In this module, as it joins what workers publish to what routers make of it, and neither service knows the other;
 * in {@code fleetlink}'s package, as the decisions to be tested ({@link Follower}, {@link LogInbox}) are no one else's
 * business.
 */
class IndexConvergenceTest {

    private static final String SEED = "index.seed";
    private static final Logger ROUTER_LOG = (Logger) LoggerFactory.getLogger("dev.warmpath.router");

    private @Nullable Level level;

    /** It says what it loses, and here that is a million things. */
    @BeforeEach
    void silence() {
        level = ROUTER_LOG.getLevel();
        ROUTER_LOG.setLevel(Level.OFF);
    }

    @AfterEach
    void speakAgain() {
        ROUTER_LOG.setLevel(level);
    }

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
        LongStream.range(firstSeed, firstSeed + sequences).parallel().forEach(seed -> run(seed, reached));
        // what is hard to reach was reached often
        assertThat(reached.events).hasSize(Event.values().length);
        assertThat(reached.counted("warmpath.index.gaps")).as("gaps").isGreaterThan(sequences / 5);
        assertThat(reached.counted("warmpath.index.drift")).as("drifts").isGreaterThan(sequences / 50);
        Map.of("checkpoint", 8, "worker", 1, "stream", 2).forEach((source, rarity) ->
                assertThat(reached.counted("warmpath.index.reloads", "source", source)).as("copies from a " + source)
                        .isGreaterThan(sequences / rarity));
        assertThat(reached.ignoredCheckpoints.sum()).as("checkpoints for a copy that exists")
                .isGreaterThan(sequences / 10);
        assertThat(reached.strangers.sum()).as("batches of strangers").isGreaterThan(sequences / 50);
        assertThat(reached.counted("warmpath.index.rejected.batches")).as("rejected batches")
                .isEqualTo(reached.strangers.sum());
        assertThat(reached.lostTails.sum()).as("lost tails of the log").isGreaterThan(sequences / 12);
        assertThat(reached.takeovers.sum()).as("ways back to the log").isGreaterThan(sequences / 8);
    }

    private static void run(long seed, Reached reached) {
        try {
            new IndexWorld(seed, reached).run();
        } catch (AssertionError | RuntimeException | InterruptedException e) {
            throw new AssertionError("sequence " + seed + ": " + e.getMessage() + "\nTo see it alone: mvn -B -pl "
                    + "acceptance -am test -Dtest=IndexConvergenceTest -Dsurefire.failIfNoSpecifiedTests=false -D"
                    + SEED + "=" + seed, e);
        }
    }
}
