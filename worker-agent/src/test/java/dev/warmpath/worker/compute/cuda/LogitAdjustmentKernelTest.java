package dev.warmpath.worker.compute.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.DeviceData;
import dev.warmpath.worker.compute.LogitAdjustments;
import dev.warmpath.worker.compute.SampledTokens;
import dev.warmpath.worker.compute.SamplingInputs;
import dev.warmpath.worker.compute.StepOutput;
import dev.warmpath.worker.compute.cpu.ScalarBackend;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Rows adjusted on the device draw the tokens that those adjusted on processors draw, whatever asks for what. */
@OnEmulatedDevice
class LogitAdjustmentKernelTest {

    private static final float OFF = Float.NEGATIVE_INFINITY;

    /** Rows and how each is adjusted, of a third of them not at all. */
    private static final class Rows {

        final int vocabulary;
        final int count;
        final float[] logits;
        final long[] seeds;
        final int[] counters;
        final float[] temperatures;
        final int[] topKs;
        final float[] topPs;
        final int[] logprobs;
        final int[] modes;
        final int[] starts;
        final int[] sources;
        final int[] before;
        final float[] repetitions;
        final float[] frequencies;
        final float[] presences;
        final float[] cuts;
        int[] ids = new int[0];
        float[] biases = new float[0];
        int[] notes = new int[0];

        Rows(int vocabulary, int count, long seed) {
            var random = new SplittableRandom(seed);
            this.vocabulary = vocabulary;
            this.count = count;
            logits = new float[vocabulary * count];
            for (int i = 0; i < logits.length; i++) {
                logits[i] = (float) (3 * random.nextGaussian());
            }
            seeds = random.longs(count).toArray();
            counters = random.ints(count, 0, 10_000).toArray();
            temperatures = floats(random, 0, 0, 0.7f, 1, 2);
            topKs = IntStream.range(0, count).map(_ -> random.nextInt(3) == 0 ? 1 + random.nextInt(50) : 0).toArray();
            topPs = floats(random, 1, 1, 0.95f, 0.5f);
            logprobs = random.ints(count, 0, 2).toArray();
            modes = random.ints(count, 0, 3).toArray();
            starts = new int[count + 1];
            sources = IntStream.range(0, count).map(_ -> random.nextInt(2) == 0 ? -1 : random.nextInt(count)).toArray();
            before = random.ints(count, -1, vocabulary).toArray();
            repetitions = floats(random, 1, 1.3f, 0.6f, 2);
            frequencies = floats(random, 0, 0.5f, -1, 2);
            presences = floats(random, 0, 0.3f, -2);
            cuts = new float[count];
            for (int row = 0; row < count; row++) {
                cuts[row] = temperatures[row] == 0 || random.nextBoolean() ? OFF
                        : (float) (temperatures[row] * Math.log(random.nextDouble()));
                if (modes[row] != LogitAdjustments.PLAIN) {
                    addEntries(row, random);
                    logits[row * vocabulary + random.nextInt(vocabulary)] =
                            random.nextInt(8) == 0 ? Float.NaN : Float.NEGATIVE_INFINITY;
                }
                starts[row + 1] = ids.length;
            }
        }

        private float[] floats(SplittableRandom random, float... choices) {
            float[] values = new float[count];
            for (int row = 0; row < count; row++) {
                values[row] = choices[random.nextInt(choices.length)];
            }
            return values;
        }

        /** Up to twice the threads of a block. */
        private void addEntries(int row, SplittableRandom random) {
            int[] some = random.ints(random.nextInt(1, 1_100), 0, vocabulary).distinct().toArray();
            int first = ids.length;
            int bans = random.nextInt(4);
            int all = some.length + bans + (sources[row] < 0 ? 0 : 1);
            ids = Arrays.copyOf(ids, first + all);
            biases = Arrays.copyOf(biases, first + all);
            notes = Arrays.copyOf(notes, first + all);
            for (int i = 0; i < some.length; i++) {
                ids[first + i] = some[i];
                biases[first + i] = random.nextInt(3) == 0 ? (float) random.nextDouble(-5, 5) : 0;
                notes[first + i] = random.nextInt(4) + random.nextInt(3) * LogitAdjustments.ONCE;
            }
            for (int i = 0; i < bans; i++) {
                ids[first + some.length + i] = random.nextInt(vocabulary);
                notes[first + some.length + i] = random.nextBoolean() ? LogitAdjustments.BAN
                        : LogitAdjustments.banAfter(sources[row] < 0 ? 0 : Math.max(0, before[sources[row]]));
            }
            if (sources[row] >= 0) {
                ids[first + all - 1] = LogitAdjustments.NO_ID;
            }
        }
    }

    private record Drawn(int[] tokens, float[] logprobs) {}

    private static Drawn draw(ComputeBackend backend, Rows rows) {
        try (var data = new DeviceData(backend)) {
            int count = rows.count;
            var inputs = new SamplingInputs(data.longs(rows.seeds), data.ints(rows.counters),
                    data.floats(count, 1, rows.temperatures), data.ints(rows.topKs), data.floats(count, 1, rows.topPs),
                    data.ints(rows.logprobs));
            int entries = rows.ids.length;
            var adjustments = new LogitAdjustments(data.ints(rows.modes), data.ints(rows.starts),
                    data.ints(rows.sources), data.floats(count, 1, rows.repetitions),
                    data.floats(count, 1, rows.frequencies), data.floats(count, 1, rows.presences),
                    data.floats(count, 1, rows.cuts), data.ints(rows.ids), data.floats(entries, 1, rows.biases),
                    data.ints(rows.notes), data.floats(entries, 1, new float[entries]));
            var before = new SampledTokens(data.ints(rows.before), data.floats(count, 1, new float[count]));
            var sampled = new SampledTokens(data.ints(new int[count]), data.floats(count, 1, new float[count]));
            backend.sampleAdjusted(data.floats(count, rows.vocabulary, rows.logits), inputs, adjustments, before,
                    sampled, count);
            var output = new StepOutput(count);
            backend.await(backend.submit(sampled, count), output);
            int[] tokens = new int[count];
            float[] logprobs = new float[count];
            for (int row = 0; row < count; row++) {
                tokens[row] = output.token(row);
                logprobs[row] = output.logprob(row);
            }
            return new Drawn(tokens, logprobs);
        }
    }

    @ParameterizedTest
    @CsvSource({"7, 60", "33, 40", "513, 30", "4098, 24", "32003, 8"})
    void tokens_and_logprobs_are_those_of_the_processors(int vocabulary, int count) {
        var rows = new Rows(vocabulary, count, vocabulary);
        Drawn expected = draw(new ScalarBackend(), rows);
        Drawn drawn = draw(CudaBackends.emulated(CacheType.BF16), rows);
        assertThat(drawn.tokens).isEqualTo(expected.tokens);
        for (int row = 0; row < count; row++) {
            if (Float.isNaN(expected.logprobs[row])) {
                assertThat(drawn.logprobs[row]).as("row %d", row).isNaN();
            } else {
                // exp2 of the device is good to 2^-22, the result to float32
                assertThat(Math.abs(drawn.logprobs[row] - expected.logprobs[row])).as("row %d", row)
                        .isLessThanOrEqualTo(1e-6f * Math.max(1, Math.abs(expected.logprobs[row])));
            }
        }
    }

    /** As many rows as the device adjusts by one launch, and more. */
    @ParameterizedTest
    @CsvSource({"7, 300"})
    void more_rows_than_a_launch_takes_are_adjusted_alike(int vocabulary, int count) {
        var rows = new Rows(vocabulary, count, 5);
        assertThat(draw(CudaBackends.emulated(CacheType.BF16), rows).tokens)
                .isEqualTo(draw(new ScalarBackend(), rows).tokens)
                .contains(SampledTokens.NO_TOKEN, SampledTokens.MASKED);
    }
}
