package dev.warmpath.worker.model;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.process.SharedModels;
import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.MemoryPlace;
import dev.warmpath.worker.compute.StoredRows;
import dev.warmpath.worker.compute.WeightFormat;
import dev.warmpath.worker.compute.cpu.VectorBackend;
import dev.warmpath.worker.compute.cuda.CudaBackends;
import dev.warmpath.worker.compute.cuda.OnCard;
import dev.warmpath.worker.compute.cuda.OnEmulatedDevice;
import dev.warmpath.worker.model.TeacherForced.Deviation;
import dev.warmpath.worker.model.source.ModelSource;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** GGUF files whose weights stay blocks on CUDA, against the same weights as bfloat16 there and as float32. */
class CudaGgufTest {

    /** Of the largest |logit|: activations, keys and values are bfloat16, and a sum in another order rounds others. */
    private static final double BOUND = 3e-2;
    /** Two tokens whose logits are not further apart may change places. */
    private static final double NEAR_TIE = 5e-2;
    private static final int TOKENS = 8;

    @Nested
    @OnEmulatedDevice
    class OnTheEmulatedDevice extends Cases {

        @Override
        ComputeBackend create() {
            return CudaBackends.emulated(CacheType.BF16);
        }
    }

    @Nested
    @OnCard
    class OnACard extends Cases {

        @Override
        ComputeBackend create() {
            return CudaBackends.onCard(CacheType.BF16);
        }
    }

    abstract static class Cases {

        abstract ComputeBackend create();

        @ParameterizedTest
        @EnumSource(names = {"F32", "F16", "BF16"}, mode = EnumSource.Mode.EXCLUDE)
        void eight_greedy_tokens_are_those_of_float32_and_of_the_same_weights_in_bfloat16(WeightFormat format)
                throws IOException {
            int[] greedy = new int[TOKENS];
            TeacherForced onProcessors = run(format, new VectorBackend(2), 1, greedy, /* forced */ false);
            TeacherForced onBlocks = run(format, create(), 1, greedy, /* forced */ true);
            TeacherForced onBfloat16 = run(format, widening(create()), 1, greedy, /* forced */ true);
            assertEqualButForNearTies(format + " against float32", onProcessors, onBlocks);
            assertEqualButForNearTies(format + " against bfloat16", onBfloat16, onBlocks);
        }

        /** 400 tokens of prompts are multiplied by weights that were widened, and so are 40 of a replayed step. */
        @ParameterizedTest
        @EnumSource(names = {"Q8_0", "Q4_K"})
        void sequences_in_a_crowd_of_40_have_the_tokens_that_they_have_alone(WeightFormat format) throws IOException {
            int[] greedy = new int[TOKENS];
            float[][] alone = run(format, create(), 1, greedy, /* forced */ false).logits()[0];
            float[][][] forty = new float[40][][];
            Arrays.fill(forty, alone);
            assertEqualButForNearTies(format + " in a crowd against alone", new TeacherForced(List.of(), forty),
                    run(format, create(), 40, greedy, /* forced */ true));
        }

        private static void assertEqualButForNearTies(String what, TeacherForced expected, TeacherForced actual) {
            Deviation deviation = expected.deviationOf(actual);
            System.out.printf(Locale.ROOT,
                    "%s: logits deviate by %.1e of the largest at most, %d of %d tokens differ%n", what,
                    deviation.largest(), deviation.differing(), deviation.positions());
            assertThat(deviation.largest()).as(what).isLessThan(BOUND);
            assertThat(deviation.widestFlip()).as(what).isLessThan(NEAR_TIE);
        }

        /**
         * Sequences of the same prompt, all of it in one step and then a token a step.
         * @param tokens behind the prompt: those that go on if they are forced, or else receives the first sequence's
         */
        private static TeacherForced run(WeightFormat format, ComputeBackend backend, int count, int[] tokens,
                boolean forced) throws IOException {
            int[] prompt = prompt(format);
            int length = prompt.length + TOKENS;
            float[][][] logits = new float[count][TOKENS][];
            var settings = RunnerSettings.of(1 + count * Math.ceilDiv(length, 16), 16, count * prompt.length, count);
            try (var runner = new TestRunner(file(format), backend, settings)) {
                List<RunningSequence> sequences = new ArrayList<>();
                for (int i = 0; i < count; i++) {
                    sequences.add(runner.sequence(prompt, length));
                }
                for (int token = 0; token < TOKENS; token++) {
                    runner.step(sequences, prompt.length);
                    for (int i = 0; i < count; i++) {
                        logits[i][token] = runner.logits(i, count);
                        if (forced) {
                            sequences.get(i).replaceLast(tokens[token]);
                        }
                    }
                }
                System.arraycopy(sequences.getFirst().tokensFrom(prompt.length), 0, tokens, 0, TOKENS);
            }
            return new TeacherForced(List.of(), logits);
        }

        private static Path file(WeightFormat format) {
            return SharedModels.find("tiny-gguf").resolve(name(format) + ".gguf");
        }

        private static String name(WeightFormat format) {
            return "tiny-" + format.name().toLowerCase(Locale.ROOT);
        }

        private static int[] prompt(WeightFormat format) {
            JsonNode recorded = JsonMapper.shared()
                    .readTree(SharedModels.find("tiny-gguf").resolve(name(format) + ".json"));
            return recorded.path("prompt").valueStream().mapToInt(JsonNode::intValue).toArray();
        }

        /** The same backend for whoever does not say in which formats rows will come. */
        private static ComputeBackend widening(ComputeBackend backend) {
            return (ComputeBackend) Proxy.newProxyInstance(CudaGgufTest.class.getClassLoader(),
                    new Class<?>[] {ComputeBackend.class}, (_, method, arguments) -> {
                        if (method.getName().equals("allocateWeight")) {
                            int rows = ((List<?>) arguments[1]).stream()
                                    .mapToInt(part -> ((StoredRows) part).count()).sum();
                            return backend.allocateWeight(rows, (int) arguments[0]);
                        }
                        try {
                            return method.invoke(backend, arguments);
                        } catch (InvocationTargetException refused) {
                            throw refused.getCause();
                        }
                    });
        }

        /** Files of the tiny model differ in their matrices alone; blocks need what they are widened into, once. */
        @ParameterizedTest
        @EnumSource(names = {"F32", "F16", "BF16"}, mode = EnumSource.Mode.EXCLUDE)
        void a_model_is_planned_to_take_its_file_s_bytes_and_32_MiB_to_widen_blocks_in(WeightFormat format)
                throws IOException {
            Footprint onBlocks = footprint(format);
            Footprint onBfloat16 = footprint(WeightFormat.BF16);
            long smaller = onBfloat16.fileBytes() - onBlocks.fileBytes();
            assertThat(smaller).isPositive();
            assertThat(onBfloat16.bytes(MemoryPlace.DEVICE, 128) - onBlocks.bytes(MemoryPlace.DEVICE, 128))
                    .isEqualTo(smaller - (32L << 20));
        }

        private Footprint footprint(WeightFormat format) throws IOException {
            ModelSource source = ModelSource.of(file(format));
            try (var backend = create()) {
                return Footprint.of(source, ModelConfig.read(source), Quantization.NONE, backend,
                        new StepSettings(16, 16, 64, 4, 1));
            }
        }
    }
}
