package dev.warmpath.worker.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.warmpath.worker.compute.AttentionSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ModelConfigTest {

    private static final String SHAPE = """
            "hidden_size": 192, "num_hidden_layers": 6, "num_attention_heads": 6, "intermediate_size": 512,
            "vocab_size": 2000, "max_position_embeddings": 2048, "rms_norm_eps": 1e-5""";

    @TempDir
    private Path directory;

    private ModelConfig read(String json) throws IOException {
        return ModelConfig.read(Files.writeString(directory.resolve("config.json"), json));
    }

    @Test
    void absent_keys_take_the_defaults_of_the_format() throws IOException {
        assertThat(read("{\"model_type\": \"llama\", " + SHAPE + "}"))
                .isEqualTo(new ModelConfig(ModelFamily.LLAMA, 192,
                        Collections.nCopies(6, AttentionSpec.plain(32)), 6, 6, 32, 512, 2000, 2048, 1e-5f, 10_000, false));
    }

    @Test
    void keys_that_are_off_or_harmless_are_taken() throws IOException {
        var config = read("""
                {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "attention_bias": false,
                 "mlp_bias": false, "rope_scaling": null, "torch_dtype": "bfloat16", "eos_token_id": [1, 2],
                 "use_cache": true, "num_key_value_heads": 2, "head_dim": 64, "tie_word_embeddings": true,
                 "hidden_act": "silu",
                 "rope_parameters": {"rope_theta": 500000.0, "rope_type": "default"}, %s}""".formatted(SHAPE));
        assertThat(config.kvHeadCount()).isEqualTo(2);
        assertThat(config.headSize()).isEqualTo(64);
        assertThat(config.ropeTheta()).isEqualTo(500_000);
        assertThat(config.tiedEmbeddings()).isTrue();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', value = {
        "\"rope_scaling\": {\"rope_type\": \"llama3\"} | rope_scaling is {\"rope_type\":\"llama3\"}, takes none",
        "\"sliding_window\": 4096                      | sliding_window is 4096, takes none",
        "\"attention_bias\": true                      | attention_bias is true, takes none",
        "\"mlp_bias\": true                            | mlp_bias is true, takes none",
        "\"quantization_config\": {\"bits\": 4}        | quantization_config is {\"bits\":4}, takes none",
        "\"hidden_act\": \"gelu\"                      | hidden_act is \"gelu\", takes silu",
        "\"final_logit_softcapping\": 30.0 | final_logit_softcapping is 30.0, which this worker does not understand",
        "\"rope_parameters\": {\"rope_type\": \"yarn\"} | rope_parameters.rope_type is \"yarn\", takes the plain",
        "\"rope_theta\": \"much\"                      | rope_theta is \"much\", takes a number",
        "\"head_dim\": 31                              | no model has",
        "\"num_key_value_heads\": 4                    | no model has"})
    void a_key_that_is_not_understood_refuses_by_name_and_value(String key, String message) {
        assertThatExceptionOfType(UnsupportedModelException.class)
                .isThrownBy(() -> read("{\"model_type\": \"llama\", " + key + ", " + SHAPE + "}"))
                .withMessageContaining(message);
    }

    @Test
    void another_model_type_a_missing_size_and_a_doubled_key_are_refused() {
        assertThatExceptionOfType(UnsupportedModelException.class)
                .isThrownBy(() -> read("{\"model_type\": \"qwen2\", " + SHAPE + "}"))
                .withMessageContaining("model_type is \"qwen2\", takes llama");
        assertThatExceptionOfType(UnsupportedModelException.class).isThrownBy(() -> read("{\"model_type\": \"llama\"}"))
                .withMessageContaining("hidden_size is missing, takes a whole number");
        assertThatExceptionOfType(UnsupportedModelException.class)
                .isThrownBy(() -> read("{\"model_type\": \"llama\", \"hidden_size\": 64, " + SHAPE + "}"))
                .withMessageContaining("Duplicate");
    }
}
