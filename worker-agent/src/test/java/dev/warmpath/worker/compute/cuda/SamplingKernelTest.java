package dev.warmpath.worker.compute.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.Philox;
import dev.warmpath.worker.compute.SampledTokens;
import dev.warmpath.worker.compute.SamplingInputs;
import dev.warmpath.worker.compute.Tensor;
import dev.warmpath.worker.compute.cpu.ScalarBackend;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The sampling kernel draws the tokens that the processors' sampler draws, row for row. */
class SamplingKernelTest {

    @Nested
    @OnEmulatedDevice
    class OnTheEmulatedDevice extends Cases {}

    @Nested
    @OnCard
    class OnACard extends Cases {}

    /** Rows of logits and how to draw from each. */
    private record Rows(int vocabulary, float[] logits, long[] seeds, int[] counters, float[] temperatures,
                        int[] topKs, float[] topPs, int[] logprobs) {

        private static final float[] TEMPERATURES = {0, 1e-4f, 0.3f, 0.7f, 1, 1, 2, 100};
        private static final float[] TOP_PS = {1, 1, 0.999999f, 0.95f, 0.9f, 0.5f, 0.35f, 0.1f, 1e-6f};

        static Rows random(int vocabulary, int count, long seed) {
            var random = new SplittableRandom(seed);
            var rows = new Rows(vocabulary, new float[count * vocabulary], new long[count], new int[count],
                    new float[count], new int[count], new float[count], new int[count]);
            int[] topKs = {0, 0, 1, 2, 3, 5, 50, vocabulary - 1, vocabulary, vocabulary + 1};
            for (int row = 0; row < count; row++) {
                rows.fill(row, random);
                rows.seeds[row] = random.nextLong();
                rows.counters[row] = random.nextInt(100_000);
                rows.temperatures[row] = TEMPERATURES[random.nextInt(TEMPERATURES.length)];
                rows.topKs[row] = topKs[random.nextInt(topKs.length)];
                rows.topPs[row] = TOP_PS[random.nextInt(TOP_PS.length)];
                rows.logprobs[row] = random.nextInt(2);
            }
            return rows;
        }

        private void fill(int row, SplittableRandom random) {
            int kind = random.nextInt(9);
            int start = row * vocabulary;
            for (int id = 0; id < vocabulary; id++) {
                logits[start + id] = switch (kind) {
                    case 0 -> (float) (3 * random.nextGaussian());
                    case 1 -> (float) (0.01 * random.nextGaussian());          // nearly flat
                    case 2 -> random.nextInt(4);                               // crowds of equals
                    case 3 -> random.nextBoolean() ? 0f : -0f;                 // all equal
                    case 4 -> random.nextInt(3) == 0 ? Float.NEGATIVE_INFINITY : (float) (5 * random.nextGaussian());
                    case 5 -> (float) (1e30 * random.nextGaussian());          // one takes all
                    case 6 -> random.nextInt(-500, 500) * Float.MIN_VALUE;     // subnormal
                    case 7 -> 20 - (float) Math.log(id + 1) + random.nextInt(3) / 8f;
                    default -> (float) random.nextGaussian();                  // spoilt below
                };
            }
            if (kind == 8) {
                float[] bad = {Float.NaN, Float.POSITIVE_INFINITY};
                logits[start + random.nextInt(vocabulary)] = bad[random.nextInt(2)];
            }
        }

        int count() {
            return seeds.length;
        }
    }

    private record Drawn(int[] tokens, float[] logprobs) {}

    abstract static class Cases extends OnDevices {

        private Drawn drawOnDevice(Rows rows, int live) {
            return drawOnDevice(rows, live, rows.logits);
        }

        /** @param read what the last kernel finds as logits; the first two have seen the true ones */
        private Drawn drawOnDevice(Rows rows, int live, float[] read) {
            int count = rows.count();
            DevicePointer tokens = arrays.empty(4L * count);
            DevicePointer logprobs = arrays.empty(4L * count);
            DevicePointer logits = arrays.floats(rows.logits);
            DevicePointer[] inputs = {arrays.longs(rows.seeds), arrays.ints(rows.counters),
                arrays.floats(rows.temperatures), arrays.ints(rows.topKs), arrays.floats(rows.topPs),
                arrays.ints(rows.logprobs)};
            DevicePointer liveRows = live == count ? null : arrays.ints(live);
            DevicePointer left = arrays.empty((long) count * KernelSizes.SAMPLE_ROW_BYTES);
            arrays.run("wp_sample_scan", count, KernelSizes.SAMPLE_SLICES, 512, arguments -> arguments.pointer(logits)
                    .integer(rows.vocabulary).pointer(inputs[5]).pointer(left).pointer(liveRows));
            arrays.run("wp_sample_gather", count, KernelSizes.SAMPLE_SLICES, 512, arguments -> arguments.pointer(logits)
                    .integer(rows.vocabulary).pointer(inputs[2]).pointer(inputs[3]).pointer(inputs[4]).pointer(left)
                    .pointer(liveRows));
            assertThat(arrays.guardIsWhole(left, (long) live * KernelSizes.SAMPLE_ROW_BYTES)).isTrue();
            DevicePointer readAgain = arrays.floats(read);
            arrays.run("wp_sample", count, 1, 512, arguments -> {
                arguments.pointer(readAgain).integer(rows.vocabulary);
                for (DevicePointer input : inputs) {
                    arguments.pointer(input);
                }
                return arguments.pointer(tokens).pointer(logprobs).pointer(left).pointer(liveRows);
            });
            assertThat(arrays.guardIsWhole(tokens, 4L * live)).isTrue();
            assertThat(arrays.guardIsWhole(logprobs, 4L * live)).isTrue();
            return new Drawn(arrays.readInts(tokens, live), arrays.readFloats(logprobs, live));
        }

        private static Drawn drawOnProcessor(Rows rows) {
            int count = rows.count();
            try (var backend = new ScalarBackend(); Arena arena = Arena.ofConfined()) {
                var inputs = new SamplingInputs(
                        tensor(backend, DataType.I64, arena.allocateFrom(ValueLayout.JAVA_LONG, rows.seeds)),
                        tensor(backend, DataType.I32, arena.allocateFrom(ValueLayout.JAVA_INT, rows.counters)),
                        tensor(backend, DataType.F32, arena.allocateFrom(ValueLayout.JAVA_FLOAT, rows.temperatures)),
                        tensor(backend, DataType.I32, arena.allocateFrom(ValueLayout.JAVA_INT, rows.topKs)),
                        tensor(backend, DataType.F32, arena.allocateFrom(ValueLayout.JAVA_FLOAT, rows.topPs)),
                        tensor(backend, DataType.I32, arena.allocateFrom(ValueLayout.JAVA_INT, rows.logprobs)));
                var sampled = new SampledTokens(backend.allocate(DataType.I32, count, 1),
                        backend.allocate(DataType.F32, count, 1));
                Tensor logits = backend.allocate(DataType.F32, count, rows.vocabulary);
                backend.write(logits, arena.allocateFrom(ValueLayout.JAVA_FLOAT, rows.logits));
                backend.sample(logits, inputs, sampled, count);
                MemorySegment tokens = arena.allocate(ValueLayout.JAVA_INT, count);
                MemorySegment logprobs = arena.allocate(ValueLayout.JAVA_FLOAT, count);
                backend.read(sampled.tokens(), count, tokens);
                backend.read(sampled.logprobs(), count, logprobs);
                return new Drawn(tokens.toArray(ValueLayout.JAVA_INT), logprobs.toArray(ValueLayout.JAVA_FLOAT));
            }
        }

        private static Tensor tensor(ScalarBackend backend, DataType type, MemorySegment values) {
            Tensor tensor = backend.allocate(type, (int) (values.byteSize() / type.bytes()), 1);
            backend.write(tensor, values);
            return tensor;
        }

        private void assertSame(Rows rows, Drawn drawn) {
            Drawn expected = drawOnProcessor(rows);
            for (int row = 0; row < drawn.tokens.length; row++) {
                String what = "row %d of %d tokens, temperature %s, top-k %d, top-p %s".formatted(row, rows.vocabulary,
                        rows.temperatures[row], rows.topKs[row], rows.topPs[row]);
                assertThat(drawn.tokens[row]).as(what).isEqualTo(expected.tokens[row]);
                float logprob = expected.logprobs[row];
                if (Float.isNaN(logprob)) {
                    assertThat(drawn.logprobs[row]).as(what).isNaN();
                } else {
                    // exp2 of the device is good to 2^-22, the result to float32
                    assertThat(Math.abs(drawn.logprobs[row] - logprob)).as(what)
                            .isLessThanOrEqualTo(1e-6f * Math.max(1, Math.abs(logprob)));
                }
            }
        }

        /** Odd vocabularies start rows at every alignment; 512 threads and 16 warps are met exactly and just missed. */
        @ParameterizedTest
        @CsvSource({"1, 20", "7, 80", "16, 40", "33, 40", "511, 40", "2048, 80", "4098, 40", "32001, 8", "32003, 8"})
        void tokens_and_logprobs_are_those_of_the_processors(int vocabulary, int count) {
            arrays.schedule(vocabulary);
            Rows rows = Rows.random(vocabulary, count, vocabulary);
            assertSame(rows, drawOnDevice(rows, count));
        }

        @Tag("full")
        @ParameterizedTest
        @CsvSource({"2, 2000", "7, 2000", "17, 2000", "260, 2000", "2048, 2000", "4098, 1000", "32003, 200", "151936, 60"})
        void thousands_of_rows_draw_the_tokens_of_the_processors(int vocabulary, int count) {
            Rows rows = Rows.random(vocabulary, count, 1_000_000 + vocabulary);
            assertSame(rows, drawOnDevice(rows, count));
        }

        /** One token of weight 1, one of 1, and 32,000 below e^-12 that weigh 0.07 together. */
        private Rows withTail(float temperature, int topK, float... topPs) {
            int vocabulary = 32_003;
            int count = topPs.length;
            var rows = new Rows(vocabulary, new float[count * vocabulary], new long[count], new int[count],
                    new float[count], new int[count], topPs, new int[count]);
            for (int row = 0; row < count; row++) {
                int start = row * vocabulary;
                Arrays.fill(rows.logits, start, start + vocabulary, -13 * temperature);
                rows.logits[start + 4_000] = 0;
                rows.logits[start + 31_000] = 0;
                rows.seeds[row] = row;
                rows.temperatures[row] = temperature;
                rows.topKs[row] = topK;
            }
            return rows;
        }

        @Test
        void rows_that_are_cut_clear_of_the_tail_are_not_read_again() {
            Rows rows = withTail(0.7f, 0, 0.3f, 0.5f, 0.6f, 0.9f, 0.95f);
            assertSame(rows, drawOnDevice(rows, 5, new float[rows.logits.length]));
            Rows few = withTail(1, 2, 1, 0.4f, 1, 0.9f);
            assertSame(few, drawOnDevice(few, 4, new float[few.logits.length]));
        }

        @Test
        void rows_that_are_not_cut_are_walked_in_the_slice_that_has_their_token() {
            float[] topPs = new float[40];
            Arrays.fill(topPs, 1);
            Rows rows = withTail(1, 0, topPs);
            for (int row = 0; row < 20; row++) {                      // mostly the tail's
                rows.logits[row * rows.vocabulary + 4_000] = -13;
                rows.logits[row * rows.vocabulary + 31_000] = row % 2 == 0 ? -13 : Float.NEGATIVE_INFINITY;
            }
            int[] tokens = drawOnProcessor(rows).tokens;
            float[] read = new float[rows.logits.length];
            Arrays.fill(read, Float.NaN);
            int slice = Math.ceilDiv(rows.vocabulary, KernelSizes.SAMPLE_SLICES);
            for (int row = 0; row < tokens.length; row++) {
                int start = row * rows.vocabulary;
                int from = start + tokens[row] / slice * slice;
                System.arraycopy(rows.logits, from, read, from, Math.min(slice, start + rows.vocabulary - from));
            }
            assertSame(rows, drawOnDevice(rows, topPs.length, read));
        }

        @Test
        void a_cut_in_the_tail_or_as_near_to_an_edge_as_the_tail_may_be_wrong_looks_at_the_whole_row() {
            double tail = 32_001 * Math.exp(-13);
            float[] topPs = new float[40];
            for (int i = 0; i < topPs.length; i++) {
                float edge = (float) ((i % 2 == 0 ? 1 : 2) / (2 + tail));
                topPs[i] = i < 30 ? edge + (i / 2 - 7) * Math.ulp(edge) : 0.975f + 0.002f * (i - 30);
            }
            Rows rows = withTail(1, 0, topPs);
            assertSame(rows, drawOnDevice(rows, topPs.length));
            Rows beyond = withTail(1, 40, 1, 0.99f, 0.3f);
            assertSame(beyond, drawOnDevice(beyond, 3));
        }

        @Test
        void the_largest_vocabulary_is_drawn_from_as_any_other() {
            Rows rows = Rows.random(262_144, 1, 7);
            rows.temperatures[0] = 1;
            rows.topKs[0] = 200_000;
            rows.topPs[0] = 0.9f;
            assertSame(rows, drawOnDevice(rows, 1));
        }

        @Test
        void rows_past_the_live_ones_draw_nothing() {
            Rows rows = Rows.random(33, 4, 5);
            assertSame(rows, drawOnDevice(rows, 3));
        }

        /** 1000 equal tokens: the draw is the uniform itself, and so Philox is right to about a thousandth. */
        @Test
        void equal_logits_are_drawn_as_the_uniform_lies() {
            Rows rows = Rows.random(1000, 20, 9);
            Arrays.fill(rows.logits, 1.5f);
            Arrays.fill(rows.temperatures, 1);
            Arrays.fill(rows.topKs, 0);
            Arrays.fill(rows.topPs, 1);
            Drawn drawn = drawOnDevice(rows, 20);
            for (int row = 0; row < 20; row++) {
                double uniform = Philox.uniform(rows.seeds[row], rows.counters[row]);
                assertThat(drawn.tokens[row]).isEqualTo((int) (1000 * uniform));
            }
        }

        @Test
        void logits_of_which_none_is_above_minus_infinity_draw_nothing() {
            Rows rows = Rows.random(40, 2, 11);
            Arrays.fill(rows.logits, Float.NEGATIVE_INFINITY);
            rows.temperatures[0] = 0;
            rows.temperatures[1] = 1;
            assertThat(drawOnDevice(rows, 2).tokens).containsExactly(SampledTokens.NO_TOKEN, SampledTokens.NO_TOKEN);
        }
    }
}
