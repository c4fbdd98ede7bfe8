package dev.warmpath.worker.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** One layer as wide as those of Llama 3.1 8B, hidden 4096 and heads of 128, with its 128,256 tokens. */
@Tag("full")
class WideLayerTest {

    @TempDir
    private Path directory;

    @Test
    void a_layer_of_real_width_has_the_logits_of_plain_pytorch() throws IOException {
        JsonNode file = FamilyModel.read("wide");
        FamilyModel.of(file).write(directory);
        int[] tokens = JsonMapper.shared().treeToValue(file.get("tokens"), int[].class);
        int[] ids = JsonMapper.shared().treeToValue(file.get("ids"), int[].class);
        double largest = file.get("largest").doubleValue();
        var settings = RunnerSettings.of(4, 16, 16, 1);
        try (var runner = new TestRunner(directory, ModelConfig.read(directory.resolve("config.json"))
                .withContextLength(64), Backends.VECTOR_ON_TWO_THREADS.create(), settings)) {
            var sequence = runner.sequence(tokens, tokens.length + 1);
            float[] logits = runner.prefill(sequence, 16);
            for (int i = 0; i < ids.length; i++) {
                assertThat((double) logits[ids[i]]).as("logit %d", ids[i])
                        .isCloseTo(file.get("logits").get(i).doubleValue(), within(1e-4 * largest));
            }
            assertThat(sequence.tokensFrom(tokens.length)).containsExactly(file.get("best").asInt());
        }
    }
}
