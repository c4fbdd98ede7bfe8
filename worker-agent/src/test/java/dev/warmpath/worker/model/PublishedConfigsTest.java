package dev.warmpath.worker.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatNoException;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.databind.JsonNode;

/**
 * Configurations as models are published with them, one a line of {@code published-configs.jsonl}; {@code source} says
 * where its keys and values are known from.
 */
class PublishedConfigsTest {

    /** @param refused what the message says; null: the model starts */
    record Published(String model, String source, @Nullable String refused, JsonNode config) {

        @Override
        public String toString() {
            return model;
        }

        ModelConfig read() {
            return ModelFamily.config(ConfigFile.of(model, config));
        }
    }

    static List<Published> all() throws IOException {
        return Files.readAllLines(Path.of("src", "test", "resources", "families", "published-configs.jsonl")).stream()
                .map(line -> ConfigFile.JSON.readValue(line, Published.class)).toList();
    }

    static List<Published> started() throws IOException {
        return all().stream().filter(model -> model.refused() == null).toList();
    }

    static List<Published> refused() throws IOException {
        return all().stream().filter(model -> model.refused() != null).toList();
    }

    private static Published published(String model) throws IOException {
        return all().stream().filter(each -> each.model().equals(model)).findFirst().orElseThrow();
    }

    @Test
    void of_98_published_models_78_start_and_20_are_refused() throws IOException {
        assertThat(started()).hasSize(78);
        assertThat(refused()).hasSize(20);
    }

    @ParameterizedTest
    @MethodSource("started")
    void a_model_of_a_family_starts(Published model) {
        assertThatNoException().isThrownBy(model::read);
    }

    @ParameterizedTest
    @MethodSource("refused")
    void another_model_is_refused_by_the_key_that_says_so_and_no_other(Published model) {
        assertThatExceptionOfType(UnsupportedModelException.class).isThrownBy(model::read)
                .withMessageStartingWith(model.model() + ": " + model.refused())
                .withMessageNotContaining("; ");
    }

    @Test
    void windows_that_hide_nothing_are_none_and_layers_of_one_window_are_a_group() throws IOException {
        assertThat(published("mistralai/Mistral-7B-v0.1").read().groupWindows()).containsExactly(4096);
        assertThat(published("mistralai/Ministral-8B-Instruct-2410").read().groupWindows()).containsExactly(0);
        assertThat(published("Qwen/Qwen2.5-7B-Instruct").read().groupWindows()).containsExactly(0);
        ModelConfig gemma2 = published("google/gemma-2-9b").read();
        assertThat(gemma2.groupWindows()).containsExactly(0, 4096);
        assertThat(gemma2.cacheShape(16).layerCount()).isEqualTo(21);
        ModelConfig gemma3 = published("google/gemma-3-1b-it").read();
        assertThat(gemma3.groupWindows()).containsExactly(0, 512);
        assertThat(gemma3.layers().stream().map(layer -> layer.rotation().theta()).distinct())
                .containsExactly(10_000.0, 1_000_000.0);
        assertThat(gemma3.placeOf(5)).isEqualTo(new LayerSpec.CachePlace(0, 0));
        assertThat(gemma3.placeOf(6)).isEqualTo(new LayerSpec.CachePlace(1, 5));
    }

    @ParameterizedTest
    @CsvSource({"mistralai/Mistral-7B-v0.1, 4096", "google/gemma-2-9b, 4096", "google/gemma-3-1b-it, 512",
        "microsoft/Phi-3-mini-4k-instruct, 2047"})
    void a_cap_on_the_context_changes_no_group(String name, int window) throws IOException {
        ModelConfig whole = published(name).read();
        for (int context : new int[] {2, window, window + 1, whole.contextLength()}) {
            ModelConfig capped = whole.withContextLength(context);
            assertThat(capped.layers()).isEqualTo(whole.layers());
            assertThat(capped.groupWindows()).isEqualTo(whole.groupWindows()).contains(window);
            assertThat(capped.cacheShape(16)).isEqualTo(whole.cacheShape(16));
        }
    }

    @Test
    void scaled_rotations_are_read_with_what_they_are_scaled_by() throws IOException {
        assertThat(rotation("meta-llama/Meta-Llama-3.1-8B"))
                .isEqualTo(new Rotation(128, 500_000, new RotaryScaling.Llama3(8, 1, 4, 8192)));
        assertThat(rotation("lmsys/vicuna-7b-v1.5-16k"))
                .isEqualTo(new Rotation(128, 10_000, new RotaryScaling.Linear(4)));
        assertThat(rotation("microsoft/Phi-4-mini-instruct (factors shortened)").size()).isEqualTo(96);
        ModelConfig yarn = published("Qwen/Qwen2.5-7B-Instruct, with YaRN as its card says").read();
        assertThat(yarn.contextLength()).isEqualTo(131_072);
        assertThat(yarn.layers().getFirst().rotation().scaling().amplitude()).isEqualTo(0.1 * Math.log(4) + 1);
        ModelConfig smollm3 = published("HuggingFaceTB/SmolLM3-3B").read();
        assertThat(smollm3.layers().stream().filter(layer -> layer.rotation().equals(Rotation.NONE))).hasSize(9);
        assertThat(smollm3.layers().get(3).rotation()).isEqualTo(Rotation.NONE);
    }

    private static Rotation rotation(String model) throws IOException {
        return published(model).read().layers().getFirst().rotation();
    }
}
