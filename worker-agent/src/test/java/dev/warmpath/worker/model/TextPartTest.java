package dev.warmpath.worker.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.node.ObjectNode;

/** A model that sees pictures, too, of which the text is served: Gemma 3's, in the clothes that are published. */
class TextPartTest {

    @TempDir
    private Path directory;
    private final FamilyCase family = FamilyCase.read("gemma3");

    private ObjectNode dressed() {
        ObjectNode config = ConfigFile.JSON.createObjectNode();
        config.putArray("architectures").add("Gemma3ForConditionalGeneration");
        config.put("model_type", "gemma3").put("mm_tokens_per_image", 256).put("image_token_index", 262_144);
        config.putObject("vision_config").put("model_type", "siglip_vision_model");
        ObjectNode text = ((ObjectNode) family.model().config()).deepCopy();
        text.remove("architectures");
        config.set("text_config", text);
        return config;
    }

    private float[] logits(FamilyModel model, String folder) throws IOException {
        Path place = model.write(Files.createDirectory(directory.resolve(folder)));
        try (var runner = new TestRunner(place, ModelConfig.read(place.resolve("config.json")),
                Backends.VECTOR.create(), RunnerSettings.of(20, 16, 64, 1))) {
            return runner.prefill(runner.sequence(family.prompts().getLast().tokens(), 41), 64);
        }
    }

    @Test
    void tensors_as_transformers_4_and_5_name_them_give_the_text_part_its_bits() throws IOException {
        float[] alone = logits(family.model(), "alone");
        UnaryOperator<String> four = name -> "language_model." + name;
        assertThat(logits(family.model().renamed(dressed(), four, "vision_tower.vision_model.post_layernorm.weight",
                "multi_modal_projector.mm_input_projection_weight"), "four")).containsExactly(alone);
        UnaryOperator<String> five = name -> name.replace("model.", "model.language_model.");
        assertThat(logits(family.model().renamed(dressed(), five, "model.vision_tower.patch_embedding.weight"), "five"))
                .containsExactly(alone);
    }

    @Test
    void other_tensors_that_are_left_over_refuse_the_model() {
        assertThatExceptionOfType(UnsupportedModelException.class).isThrownBy(() -> logits(family.model()
                .renamed(dressed(), name -> "language_model." + name, "language_model.adapter.weight"), "other"))
                .withMessageContaining("holds 1 tensors that this worker has no use for, such as adapter.weight");
    }

    @Test
    void what_is_wrong_in_the_text_part_and_around_it_is_told_at_once() {
        ObjectNode config = dressed();
        config.put("speaks", true);
        ((ObjectNode) config.get("text_config")).put("sliding_window", -4).put("novelty", 3);
        assertThatExceptionOfType(UnsupportedModelException.class)
                .isThrownBy(() -> ModelFamily.config(ConfigFile.of("config", config)))
                .withMessageContainingAll("speaks is true", "text_config.sliding_window is -4",
                        "text_config.novelty is 3");
        ObjectNode moe = dressed();
        ((ObjectNode) moe.get("text_config")).put("model_type", "gemma3n_text");
        assertThatExceptionOfType(UnsupportedModelException.class)
                .isThrownBy(() -> ModelFamily.config(ConfigFile.of("config", moe)))
                .withMessageContaining("text_config.model_type is \"gemma3n_text\", takes llama");
        ObjectNode untied = dressed();
        untied.put("tie_word_embeddings", false);
        assertThatExceptionOfType(UnsupportedModelException.class)
                .isThrownBy(() -> ModelFamily.config(ConfigFile.of("config", untied)))
                .withMessageContaining("tie_word_embeddings is false, but it is not in text_config");
    }
}
