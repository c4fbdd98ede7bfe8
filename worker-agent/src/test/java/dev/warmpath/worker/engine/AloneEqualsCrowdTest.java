package dev.warmpath.worker.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.worker.compute.AttentionSpec;
import dev.warmpath.worker.engine.Crowd.Seen;
import dev.warmpath.worker.engine.RequestMix.Ask;
import dev.warmpath.worker.engine.RequestMix.Device;
import dev.warmpath.worker.model.LoadedModel;
import dev.warmpath.worker.model.ModelConfig;
import dev.warmpath.worker.model.RandomLlama;
import dev.warmpath.worker.model.RunnerSettings;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A request generates the same tokens from the same bits of logits whether it is alone or in a crowd that preempts,
 * swaps, forks, shares prefixes, is cancelled and sees steps fail. Every row of logits that the device computes is
 * compared, those of tokens that are thrown away too. One mix is replayed by
 * <pre>
 *   mvn -B -pl worker-agent -am test -Dtest=AloneEqualsCrowdTest#mixes_of_the_gate -Dwarmpath.mix=17
 *       -Dsurefire.failIfNoSpecifiedTests=false
 * </pre>
 */
class AloneEqualsCrowdTest {

    private static final int GATE_MIXES = 24;
    private static final int ALL_MIXES = 300;
    private static final int GATE_WINDOWED_MIXES = 8;
    private static final int ALL_WINDOWED_MIXES = 120;
    private static final String REPLAY = "mvn -B -pl worker-agent -am test "
            + "-Dtest=AloneEqualsCrowdTest#%s -Dwarmpath.mix=%d -Dsurefire.failIfNoSpecifiedTests=false";

    private static final @Nullable Long REPLAYED = Long.getLong("warmpath.mix");

    @TempDir
    private static Path directory;
    private static RandomLlama model;
    /** In all mixes so far. */
    private static Seen seen = Seen.NOTHING;

    @BeforeAll
    static void writeModel() throws IOException {
        model = RandomLlama.create(7);
        model.write(directory);
    }

    /** One mix need not have it all, but what no mix has would not be tested. */
    @AfterAll
    static void requireVariety() {
        if (REPLAYED == null) {
            assertThat(seen.hitTokens()).as("prefix hits").isPositive();
            assertThat(seen.blocksCopiedOnWrite()).as("forks that wrote").isPositive();
            assertThat(seen.feedingSteps()).as("steps ahead").isPositive();
            assertThat(seen.cancelled()).as("cancelled requests").isPositive();
            assertThat(seen.failed()).as("requests of failed steps").isPositive();
        }
    }

    static LongStream gate() {
        return REPLAYED != null ? LongStream.of(REPLAYED) : LongStream.range(0, GATE_MIXES);
    }

    static LongStream rest() {
        return LongStream.range(GATE_MIXES, ALL_MIXES);
    }

    @ParameterizedTest(name = "mix {0}")
    @MethodSource("gate")
    void mixes_of_the_gate(long seed) throws IOException {
        check(seed);
    }

    @Tag("full")
    @ParameterizedTest(name = "mix {0}")
    @MethodSource("rest")
    void mixes_of_the_long_half(long seed) throws IOException {
        check(seed);
    }

    /** Layers that see everything and layers that see 37 tokens: two groups of the cache take blocks from one pool. */
    @Test
    void mixes_of_a_model_with_windows() throws IOException {
        checkWindowed(0, GATE_WINDOWED_MIXES);
    }

    @Tag("full")
    @Test
    void mixes_of_a_model_with_windows_in_the_long_half() throws IOException {
        checkWindowed(GATE_WINDOWED_MIXES, ALL_WINDOWED_MIXES);
    }

    private static void checkWindowed(int from, int to) throws IOException {
        var global = AttentionSpec.plain(10);
        var local = new AttentionSpec(0.3, /* window */ 37, AttentionSpec.NO_CAP, false);
        var windowed = RandomLlama.create(7, List.of(global, local)).config();
        int pressed = 0;
        for (long seed : (REPLAYED != null ? LongStream.of(REPLAYED) : LongStream.range(from, to)).toArray()) {
            pressed += check(windowed, seed) ? 1 : 0;
        }
        if (REPLAYED == null) {
            assertThat(pressed).as("mixes that were preempted").isPositive();
        }
    }

    private static void check(long seed) throws IOException {
        check(model.config(), seed);
    }

    /** @return whether the pool was too small in the way that the mix wants */
    private static boolean check(ModelConfig config, long seed) throws IOException {
        int groups = config.groupWindows().size();
        var mix = RequestMix.create(seed, config.vocabularySize(), config.contextLength(), groups);
        try {
            List<AloneRun> alone = alone(config, mix);
            try (var crowd = new Crowd(directory, config, mix, alone)) {
                crowd.run();
                crowd.requireEqual();
                if (groups == 1) {
                    crowd.requirePressed();
                }
                seen = seen.plus(crowd.seen());
                return crowd.isPressed();
            }
        } catch (AssertionError | RuntimeException e) {
            throw new AssertionError("%s%n  %s%n  replay: %s".formatted(e.getMessage(), mix, REPLAY.formatted(
                    groups == 1 ? "mixes_of_the_gate" : "mixes_of_a_model_with_windows", seed)),
                    e);
        }
    }

    private static List<AloneRun> alone(ModelConfig config, RequestMix mix) throws IOException {
        int context = config.contextLength();
        int blocks = 1 + config.groupWindows().size() * Math.ceilDiv(context, 16);
        // one thread: two have the same bits, which is held here as well
        var device = mix.device() == Device.SCALAR ? Device.SCALAR : Device.VECTOR;
        var settings = RunnerSettings.of(blocks, 16, context, 1);
        List<AloneRun> runs = new ArrayList<>();
        try (var runner = LoadedModel.load(directory, config, device.create(mix.cacheType()), settings.steps())
                .withCache(blocks, 0)) {
            for (Ask ask : mix.asks()) {
                runs.add(AloneRun.of(runner, ask));
            }
        }
        return runs;
    }
}
