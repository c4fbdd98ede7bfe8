package dev.warmpath.worker.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.warmpath.process.SharedModels;
import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.WeightFormat;
import dev.warmpath.worker.compute.cpu.VectorBackend;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** GGUF files, computed in float32 from what their blocks are worth, against what others compute from that. */
class GgufGoldenTest {

    private static final String SMOLLM = "smollm2-135m-instruct";
    /** Two float32 programs may part where the two best logits are closer than this. */
    private static final double ROUNDING_GAP = 1e-3;

    /** Against llama.cpp on a float32 copy. */
    @ParameterizedTest
    @EnumSource
    void logits_and_the_best_token_at_each_place_are_llama_cpps_in_every_format(WeightFormat format)
            throws IOException {
        Path folder = SharedModels.find("tiny-gguf");
        String name = "tiny-" + format.name().toLowerCase(Locale.ROOT);
        JsonNode expected = JsonMapper.shared().readTree(folder.resolve(name + ".json"));
        int[] prompt = integers(expected.path("prompt"));
        int[] best = integers(expected.path("argmax_dequantised"));
        try (var runner = new TestRunner(folder.resolve(name + ".gguf"), new VectorBackend(2),
                RunnerSettings.of(16, 16, 64, 1))) {
            for (int length = 1; length <= prompt.length; length++) {
                var sequence = runner.sequence(Arrays.copyOf(prompt, length), length + 1);
                float[] logits = runner.prefill(sequence, 64);
                assertThat(sequence.tokensFrom(length)).as("token after %d", length).containsExactly(best[length - 1]);
                if (length == prompt.length) {
                    checkLogits(logits, expected.path("last_logits_dequantised"));
                }
            }
        }
    }

    private static void checkLogits(float[] logits, JsonNode expected) {
        assertThat(logits).hasSize(264).hasSize(expected.size());
        for (int id = 0; id < logits.length; id++) {
            assertThat(logits[id]).as("logit %d", id).isCloseTo(expected.path(id).floatValue(), within(2e-4f));
        }
    }

    @Test
    void the_first_tokens_of_two_prompts_are_those_of_transformers() throws IOException {
        assertWithinRounding(compare(CacheType.F32, prompts().subList(0, 2), 16));
    }

    @Test
    @Tag("full")
    void all_1280_tokens_of_twenty_prompts_are_those_of_transformers() throws IOException {
        assertWithinRounding(compare(CacheType.F32, prompts(), 64));
    }

    private static void assertWithinRounding(List<Parting> partings) {
        assertThat(partings).allSatisfy(parting -> assertThat(parting.gap()).isLessThan(ROUNDING_GAP));
    }

    /** How many of the 1,280 are the best one still, with these before them. */
    @Test
    @Tag("full")
    void keys_and_values_in_bfloat16_leave_most_tokens_what_they_are_in_float32() throws IOException {
        List<Parting> partings = compare(CacheType.BF16, prompts(), 64);
        System.out.println("keys and values in bfloat16: other tokens are " + partings);
        assertThat(partings).hasSizeLessThanOrEqualTo(30)
                .allSatisfy(parting -> assertThat(parting.gap()).isLessThan(0.5));
    }

    private record Prompt(int[] tokens, int[] greedy, JsonNode gaps) {
    }

    /**
     * A token that is another than transformers'.
     * @param position among the tokens of the answer
     * @param gap      between transformers' two best there
     */
    private record Parting(int prompt, int position, int drawn, int expected, double gap) {
    }

    private static List<Prompt> prompts() throws IOException {
        List<Prompt> prompts = new ArrayList<>();
        for (String line : Files.readAllLines(SharedModels.find(SMOLLM).resolve("greedy-f32.jsonl"))) {
            JsonNode json = JsonMapper.shared().readTree(line);
            prompts.add(new Prompt(integers(json.path("prompt_ids")), integers(json.path("ids")), json.path("gaps")));
        }
        assertThat(prompts).hasSize(20).allSatisfy(prompt -> assertThat(prompt.greedy).hasSize(64));
        return prompts;
    }

    /** All in one batch; whatever a step draws, the recorded token goes on. */
    private static List<Parting> compare(CacheType cacheType, List<Prompt> prompts, int tokens) throws IOException {
        List<Parting> partings = new ArrayList<>();
        Path file = SharedModels.find(SMOLLM).resolve("SmolLM2-135M-Instruct.Q4_1.gguf");
        try (var runner = new TestRunner(file, new VectorBackend(2, cacheType), RunnerSettings.of(200, 16, 512, 20))) {
            List<RunningSequence> sequences = prompts.stream()
                    .map(prompt -> runner.sequence(prompt.tokens, prompt.tokens.length + tokens)).toList();
            for (int position = 0; position < tokens; position++) {
                runner.step(sequences, 64);
                for (int i = 0; i < prompts.size(); i++) {
                    Prompt prompt = prompts.get(i);
                    int drawn = sequences.get(i).tokensFrom(prompt.tokens.length + position)[0];
                    int expected = prompt.greedy[position];
                    if (drawn != expected) {
                        partings.add(new Parting(i, position, drawn, expected,
                                prompt.gaps.path(position).doubleValue()));
                    }
                    sequences.get(i).replaceLast(expected);
                }
            }
        }
        return partings;
    }

    private static int[] integers(JsonNode list) {
        return list.valueStream().mapToInt(JsonNode::intValue).toArray();
    }
}
