package dev.warmpath.worker.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.warmpath.worker.compute.AttentionSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ModelConfigTest {

    private static final String SHAPE = """
            "hidden_size": 192, "num_hidden_layers": 6, "num_attention_heads": 6, "intermediate_size": 512,
            "vocab_size": 2000, "max_position_embeddings": 2048, "rms_norm_eps": 1e-5""";

    @TempDir
    private Path directory;

    private ModelConfig read(String json) throws IOException {
        return ModelConfig.read(Files.writeString(directory.resolve("config.json"), json));
    }

    /** @param keys with their values, each followed by a comma */
    private ModelConfig read(String modelType, String keys) throws IOException {
        return read("{\"model_type\": \"%s\", %s %s}".formatted(modelType, keys, SHAPE));
    }

    @Test
    void absent_keys_take_the_defaults_of_the_family() throws IOException {
        assertThat(read("llama", "")).isEqualTo(new ModelConfig(ModelFamily.LLAMA, 192,
                Collections.nCopies(6, LayerShape.plain(32, 10_000)), 6, 6, 32, 512, 2000, 2048, 1e-5f,
                StreamSpec.PLAIN, false));
        assertThat(read("qwen3", "\"num_key_value_heads\": 6,").headSize()).isEqualTo(128);
        ModelConfig gemma = read("gemma2", "\"num_key_value_heads\": 2,");
        assertThat(gemma.tiedEmbeddings()).isTrue();
        assertThat(gemma.headSize()).isEqualTo(256);
        assertThat(gemma.stream()).isEqualTo(new StreamSpec(Math.sqrt(192), 1, 1, 30));
        assertThat(gemma.layers().getFirst().attention())
                .isEqualTo(new AttentionSpec(1 / 16.0, AttentionSpec.NO_WINDOW, 50, false));
    }

    /** An absent window is the class's own, 4096; null is none. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "                        | 4096",
        "\"sliding_window\": null,  | 0",
        "\"sliding_window\": 1000,  | 1000",
        "\"sliding_window\": 8192,  | 0"})
    void a_window_is_absent_or_null_or_wide_or_counts(String key, int window) throws IOException {
        String shape = SHAPE.replace("2048", "8192");
        ModelConfig config = read("{\"model_type\": \"mistral\", %s \"num_key_value_heads\": 2, %s}"
                .formatted(key == null ? "" : key, shape));
        assertThat(config.groupWindows()).containsExactly(window);
    }

    @Test
    void keys_that_are_off_or_change_nothing_are_taken() throws IOException {
        var config = read("llama", """
                "architectures": ["LlamaForCausalLM"], "attention_bias": false,
                "mlp_bias": false, "rope_scaling": null, "torch_dtype": "bfloat16", "eos_token_id": [1, 2],
                "use_cache": true, "num_key_value_heads": 2, "head_dim": 64, "tie_word_embeddings": true,
                "hidden_act": "silu", "transformers.js_config": {"use_external_data_format": true},
                "is_llama_config": true, "rope_interleaved": false, "_from_model_config": true,
                "_attn_implementation": "eager", "_attn_implementation_autoset": true, "auto_map": {},
                "id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}, "layer_types": null,
                "max_window_layers": null, "tf_legacy_loss": true, "unsloth_version": "2024.9",
                "use_sliding_window": false, "sliding_window": null, "quantization_config": null,
                "pruned_heads": {}, "temperature": 0.7, "max_length": 20, "pretraining_tp": 2,
                "some_switch_of_tomorrow": false,
                "rope_parameters": {"rope_theta": 500000.0, "rope_type": "default"},""");
        assertThat(config.kvHeadCount()).isEqualTo(2);
        assertThat(config.headSize()).isEqualTo(64);
        assertThat(config.layers()).containsOnly(LayerShape.plain(64, 500_000));
        assertThat(config.tiedEmbeddings()).isTrue();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', value = {
        "llama | \"sliding_window\": 4096 | sliding_window is 4096, which is not implemented",
        "llama | \"attention_bias\": true | attention_bias is true, which is not implemented",
        "llama | \"quantization_config\": {\"bits\": 4} |"
            + " quantization_config is {\"bits\":4}, which is not implemented",
        "llama | \"hidden_act\": \"gelu\" | hidden_act is \"gelu\", takes silu",
        "llama | \"final_logit_softcapping\": 30.0 | final_logit_softcapping is 30.0, which is not implemented",
        "llama | \"rope_theta\": \"much\" | rope_theta is \"much\", takes a number above 0",
        "llama | \"rope_interleaved\": true | rope_interleaved is true, takes false",
        "llama | \"rope_scaling\": {\"rope_type\": \"ntk\"} |"
            + " rope_scaling.rope_type is \"ntk\", which is not implemented",
        "llama | \"rope_scaling\": {\"type\": \"linear\"} | rope_scaling.factor is missing, takes a number",
        "llama | \"rope_scaling\": \"linear\" | rope_scaling is \"linear\", takes an object",
        "llama | \"rope_parameters\": {\"mrope_section\": [1]} | rope_parameters.mrope_section is [1], which is not",
        "llama | \"partial_rotary_factor\": 0.1 |"
            + " partial_rotary_factor is 0.1, takes one that turns an even part of 32",
        "llama | \"auto_map\": {\"AutoModelForCausalLM\": \"mine.MyModel\"} | auto_map is {\"AutoModelForCausalLM\"",
        "llama | \"architectures\": [\"LlamaForSequenceClassification\"] | architectures is [\"LlamaForSequence",
        "llama | \"head_dim\": 31 | no model has",
        "llama | \"head_dim\": 0 | head_dim is 0, takes a whole number from 1 on",
        "llama | \"num_key_value_heads\": 4 | no model has",
        "llama | \"tie_word_embeddings\": 1 | tie_word_embeddings is 1, takes true or false",
        "qwen2 | \"num_key_value_heads\": 2, \"layer_types\": [\"full_attention\"] |"
            + " layer_types is [\"full_attention\"], takes",
        "smollm3 | \"num_key_value_heads\": 2, \"no_rope_layers\": [1, 0] |"
            + " no_rope_layers is [1,0], takes 0 or 1 for each of 6",
        "phi3 | \"rope_scaling\": {\"type\": \"su\", \"short_factor\": [1], \"long_factor\": [1, 2]} |"
            + " long_factor is [1,2], takes 16",
        "gemma | \"hidden_activation\": \"gelu\" | hidden_activation is \"gelu\", takes gelu_pytorch_tanh"})
    void a_key_that_is_not_understood_refuses_by_name_and_value(String modelType, String keys, String message) {
        assertThatExceptionOfType(UnsupportedModelException.class).isThrownBy(() -> read(modelType, keys + ","))
                .withMessageContaining(message);
    }

    /** As transformers 4.57.6 and 5.24.0 read them: what their classes derive, or else what is written out. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', value = {
        "llama | \"num_key_value_heads\": null, \"head_dim\": null, \"rope_scaling\": null, \"pad_token_id\": null |"
            + " \"num_key_value_heads\": 6, \"head_dim\": 32",
        "llama | \"rope_parameters\": null, \"tie_word_embeddings\": null, \"attention_bias\": null |"
            + " \"tie_word_embeddings\": false",
        "llama | \"rope_theta\": null, \"rope_parameters\": {\"rope_theta\": 500000.0} | \"rope_theta\": 500000.0",
        "llama | \"rope_scaling\": {\"type\": \"yarn\", \"factor\": 4.0, \"original_max_position_embeddings\": null,"
            + " \"beta_fast\": null, \"beta_slow\": null, \"attention_factor\": null, \"mscale\": null} |"
            + " \"rope_scaling\": {\"type\": \"yarn\", \"factor\": 4.0}",
        "mistral | \"num_key_value_heads\": null, \"head_dim\": null, \"layer_types\": null |"
            + " \"num_key_value_heads\": 6, \"head_dim\": 32",
        "qwen2 | \"num_key_value_heads\": null, \"sliding_window\": null, \"max_window_layers\": null |"
            + " \"num_key_value_heads\": 6",
        "qwen2 | \"num_key_value_heads\": 2, \"use_sliding_window\": null, \"sliding_window\": 100 |"
            + " \"num_key_value_heads\": 2",
        "qwen2 | \"num_key_value_heads\": 2, \"use_sliding_window\": true, \"sliding_window\": null,"
            + " \"max_window_layers\": 2, \"layer_types\": null | \"num_key_value_heads\": 2",
        "qwen3 | \"num_key_value_heads\": null | \"num_key_value_heads\": 6, \"head_dim\": 128",
        "phi3 | \"num_key_value_heads\": null, \"sliding_window\": null, \"rope_scaling\": null |"
            + " \"num_key_value_heads\": 6",
        "smollm3 | \"num_key_value_heads\": null, \"no_rope_layers\": null, \"layer_types\": null,"
            + " \"sliding_window\": null | \"num_key_value_heads\": 6, \"no_rope_layers\": [1, 1, 1, 0, 1, 1]",
        "smollm3 | \"num_key_value_heads\": 2, \"use_sliding_window\": true, \"sliding_window\": null |"
            + " \"num_key_value_heads\": 2",
        "granite | \"num_key_value_heads\": null, \"rope_scaling\": null | \"num_key_value_heads\": 6",
        "gemma | \"num_key_value_heads\": 2, \"hidden_activation\": null | \"num_key_value_heads\": 2",
        "gemma2 | \"num_key_value_heads\": 2, \"hidden_act\": null, \"layer_types\": null | \"num_key_value_heads\": 2",
        "gemma2 | \"num_key_value_heads\": 2, \"sliding_window\": null, \"layer_types\": [\"full_attention\","
            + " \"full_attention\", \"full_attention\", \"full_attention\", \"full_attention\", \"full_attention\"] |"
            + " \"num_key_value_heads\": 2, \"sliding_window\": 2048",
        "gemma3_text | \"num_key_value_heads\": 2, \"_sliding_window_pattern\": null, \"rope_parameters\":"
            + " {\"full_attention\": null, \"sliding_attention\": null} | \"num_key_value_heads\": 2,"
            + " \"rope_theta\": 1000000.0, \"rope_local_base_freq\": 10000.0",
        "gemma3_text | \"num_key_value_heads\": 2, \"attn_logit_softcapping\": null,"
            + " \"final_logit_softcapping\": null, \"rope_scaling\": null | \"num_key_value_heads\": 2"})
    void null_is_read_as_the_class_reads_it(String modelType, String nulls, String same) throws IOException {
        assertThat(read(modelType, nulls + ",")).isEqualTo(read(modelType, same + ","));
    }

    @Test
    void a_cap_that_is_null_is_none() throws IOException {
        ModelConfig config = read("gemma2", """
                "num_key_value_heads": 2, "attn_logit_softcapping": null, "final_logit_softcapping": null,""");
        assertThat(config.layers().getFirst().attention().softCap()).isEqualTo(AttentionSpec.NO_CAP);
        assertThat(config.stream().logitCap()).isEqualTo(StreamSpec.NO_CAP);
    }

    /** The class has a value of its own where a file says nothing; with null it cannot compute. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', value = {
        "llama | \"rope_theta\": null | rope_theta is null, takes a number above 0",
        "llama | \"hidden_act\": null | hidden_act is null, takes silu",
        "llama | \"rope_scaling\": {\"rope_type\": null, \"factor\": 8.0} |"
            + " rope_scaling.rope_type is null, takes a text",
        "llama | \"rope_scaling\": {\"type\": \"linear\", \"factor\": null} |"
            + " rope_scaling.factor is null, takes a number",
        "llama | \"rope_scaling\": {\"type\": \"yarn\", \"factor\": 4.0, \"truncate\": null} |"
            + " rope_scaling.truncate is null, takes true or false",
        "phi3 | \"partial_rotary_factor\": null | partial_rotary_factor is null, takes a number",
        "qwen2 | \"num_key_value_heads\": 2, \"use_sliding_window\": true, \"sliding_window\": 100,"
            + " \"max_window_layers\": null | max_window_layers is null, takes a whole number from 0 on",
        "qwen2 | \"num_key_value_heads\": 2, \"sliding_window\": 100, \"layer_types\": [\"full_attention\","
            + " \"full_attention\", \"full_attention\", \"full_attention\", \"full_attention\","
            + " \"sliding_attention\"] | sliding_window is 100, not in use, but layers have one",
        "qwen3 | \"num_key_value_heads\": 2, \"head_dim\": null | head_dim is null, takes a whole number",
        "smollm3 | \"no_rope_layer_interval\": null | no_rope_layer_interval is null, takes a whole number",
        "granite | \"attention_multiplier\": null | attention_multiplier is null, takes a number above 0",
        "gemma | \"num_key_value_heads\": null | num_key_value_heads is null, takes a whole number",
        "gemma | \"num_key_value_heads\": 2, \"head_dim\": null | head_dim is null, takes a whole number",
        "gemma | \"num_key_value_heads\": 2, \"tie_word_embeddings\": null |"
            + " tie_word_embeddings is null, takes true or false",
        "gemma2 | \"num_key_value_heads\": 2, \"hidden_activation\": null | hidden_activation is null, takes gelu",
        "gemma2 | \"num_key_value_heads\": 2, \"query_pre_attn_scalar\": null | query_pre_attn_scalar is null, takes",
        "gemma2 | \"num_key_value_heads\": 2, \"sliding_window\": null |"
            + " sliding_window is null, not in use, but layers have one",
        "gemma3_text | \"num_key_value_heads\": 2, \"rope_local_base_freq\": null | rope_local_base_freq is null, takes"})
    void null_is_refused_where_the_class_can_do_nothing_with_it(String modelType, String keys, String message) {
        assertThatExceptionOfType(UnsupportedModelException.class).isThrownBy(() -> read(modelType, keys + ","))
                .withMessageContaining(": " + message).withMessageNotContaining("; ");
    }

    @ParameterizedTest
    @ValueSource(strings = {"hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
        "vocab_size", "max_position_embeddings", "rms_norm_eps"})
    void sizes_are_never_null(String key) {
        String shape = SHAPE.replaceFirst("\"" + key + "\": [^,]+", "\"" + key + "\": null");
        assertThatExceptionOfType(UnsupportedModelException.class)
                .isThrownBy(() -> read("{\"model_type\": \"llama\", %s}".formatted(shape)))
                .withMessageContaining(": " + key + " is null, takes a ").withMessageNotContaining("; ");
    }

    @Test
    void all_that_is_wrong_is_told_at_once() {
        assertThatExceptionOfType(UnsupportedModelException.class).isThrownBy(() -> read("llama", """
                "attention_bias": true, "mlp_bias": true, "num_experts": 8, "hidden_act": "relu",
                "quantization_config": {"quant_method": "gptq"}, "rope_scaling": {"type": "linear", "alpha": 3},"""))
                .withMessageStartingWith(directory.resolve("config.json") + ": ")
                .withMessageContainingAll("attention_bias is true", "mlp_bias is true", "num_experts is 8",
                        "hidden_act is \"relu\"", "quantization_config is {\"quant_method\":\"gptq\"}",
                        "rope_scaling.factor is missing", "rope_scaling.alpha is 3");
    }

    @Test
    void a_long_value_is_told_in_part() {
        assertThatExceptionOfType(UnsupportedModelException.class)
                .isThrownBy(() -> read("llama", "\"novelty\": \"" + "x".repeat(10_000) + "\","))
                .withMessageContaining("novelty is \"xxx").withMessageContaining("xxx…, which is not implemented");
    }

    @Test
    void sizes_that_no_memory_holds_are_refused() {
        assertThatExceptionOfType(UnsupportedModelException.class)
                .isThrownBy(() -> read("{\"model_type\": \"llama\", %s}".formatted(
                        SHAPE.replace("\"num_hidden_layers\": 6", "\"num_hidden_layers\": 2000000000"))))
                .withMessageContaining("num_hidden_layers is 2000000000, takes at most 1000");
        assertThatExceptionOfType(UnsupportedModelException.class)
                .isThrownBy(() -> read("llama", "\"head_dim\": 1073741824,"))
                .withMessageContaining("head_dim is 1073741824, takes at most 1024");
    }

    @Test
    void what_transformers_4_and_5_write_reads_alike() throws IOException {
        assertThat(read("llama", """
                "rope_theta": 500000.0, "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                "high_freq_factor": 4.0, "original_max_position_embeddings": 512},"""))
                .isEqualTo(read("llama", """
                "rope_parameters": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                "rope_theta": 500000.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 512},"""));
        assertThat(read("phi3", "\"partial_rotary_factor\": 0.75,")).isEqualTo(read("phi3", """
                "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.75},"""));
        assertThat(read("qwen2", """
                "num_key_value_heads": 2, "use_sliding_window": true, "sliding_window": 100,
                "max_window_layers": 4,"""))
                .isEqualTo(read("qwen2", """
                "num_key_value_heads": 2, "use_sliding_window": true, "sliding_window": 100, "layer_types":
                ["full_attention", "full_attention", "full_attention", "full_attention", "sliding_attention",
                 "sliding_attention"],"""));
        String newer = """
                "num_key_value_heads": 2, "sliding_window": 100, "layer_types": ["sliding_attention",
                "sliding_attention", "full_attention", "sliding_attention", "sliding_attention", "full_attention"],
                "rope_parameters": {"sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
                "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1000000.0}},""";
        ModelConfig gemma3 = read("gemma3_text", newer);
        assertThat(gemma3).isEqualTo(read("gemma3_text", """
                "num_key_value_heads": 2, "sliding_window": 100, "sliding_window_pattern": 3, "rope_theta": 1000000.0,
                "rope_local_base_freq": 10000.0, "rope_scaling": {"rope_type": "linear", "factor": 8.0},"""));
        assertThat(gemma3.layers().get(2).rotation())
                .isEqualTo(new Rotation(256, 1_000_000, new RotaryScaling.Linear(8)));
        assertThat(gemma3.groupWindows()).isEqualTo(List.of(0, 100));
    }

    @Test
    void keys_that_contradict_each_other_are_refused() {
        for (String keys : new String[] {
            "\"rope_theta\": 10000.0, \"rope_parameters\": {\"rope_theta\": 20000.0},",
            "\"rope_scaling\": {\"type\": \"linear\"}, \"rope_parameters\": {\"rope_theta\": 20000.0},"}) {
            assertThatExceptionOfType(UnsupportedModelException.class).isThrownBy(() -> read("llama", keys))
                    .withMessageContaining(", but ");
        }
    }

    @Test
    void another_model_type_a_missing_size_and_a_doubled_key_are_refused() {
        assertThatExceptionOfType(UnsupportedModelException.class).isThrownBy(() -> read("gpt_oss", "\"experts\": 32,"))
                .withMessageContaining("model_type is \"gpt_oss\", takes llama, mistral, qwen2, qwen3, phi3")
                .withMessageNotContaining("experts");
        assertThatExceptionOfType(UnsupportedModelException.class).isThrownBy(() -> read("{\"hidden_size\": 64}"))
                .withMessageContaining("model_type is missing, takes llama");
        assertThatExceptionOfType(UnsupportedModelException.class).isThrownBy(() -> read("{\"model_type\": \"llama\"}"))
                .withMessageContainingAll("hidden_size is missing, takes a whole number from 1 on",
                        "vocab_size is missing", "max_position_embeddings is missing");
        assertThatExceptionOfType(UnsupportedModelException.class)
                .isThrownBy(() -> read("{\"model_type\": \"llama\", \"hidden_size\": 64, " + SHAPE + "}"))
                .withMessageContaining("Duplicate");
        assertThatExceptionOfType(UnsupportedModelException.class).isThrownBy(() -> read("[]"))
                .withMessageContaining("is not a JSON object");
    }
}
