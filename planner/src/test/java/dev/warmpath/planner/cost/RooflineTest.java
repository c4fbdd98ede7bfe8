package dev.warmpath.planner.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.planner.simulation.ServiceModel;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RooflineTest {

    @TempDir
    Path folder;

    @Test
    void parameters_follow_from_the_shape_as_model_cards_have_them() throws IOException {
        assertThat(Models.named("llama-3.1-8b").parameters()).isEqualTo(8_030_261_248L);
        assertThat(Models.named("llama-3.1-70b").parameters()).isEqualTo(70_553_706_496L);
        assertThat(Models.named("mixtral-8x7b").parameters()).isEqualTo(46_702_792_704L);
        assertThat(Models.named("mixtral-8x7b").activeParameters()).as("two of eight experts")
                .isEqualTo(12_879_925_248L);
    }

    @Test
    void seventy_billion_parameters_on_four_cards() throws IOException {
        var roofline = new Roofline(Models.named("Llama-3.1-70B"), Gpu.H100_SXM, 4, 0.5, 0.7);
        ServiceModel service = roofline.cost().service();

        assertThat(roofline.cacheBytesPerToken()).as("2 x 80 layers x 8 heads x 128 x 2 bytes").isEqualTo(327_680);
        assertThat(service.stepMicros()).as("141.1 GB at 9.38 TB/s").isCloseTo(15_043, Offset.offset(1.0));
        assertThat(service.promptTokenMicros()).as("141.1 G operations at 1,978 T/s").isCloseTo(71.3,
                Offset.offset(0.1));
        assertThat(service.pairNanos()).as("2.62 M operations").isCloseTo(1.325, Offset.offset(0.001));
        assertThat(service.contextTokenNanos()).isCloseTo(34.9, Offset.offset(0.1));
        assertThat(roofline.pool(16).tokens()).as("288 - 141.1 - 8 GB at 327,680 bytes, in blocks of 16")
                .isEqualTo(423_856);
    }

    @Test
    void more_cards_than_key_value_heads_keep_some_twice() throws IOException {
        assertThat(new Roofline(Models.named("qwen2.5-7b"), Gpu.L4, 8, 0.5, 0.7).cacheBytesPerToken())
                .as("2 x 28 layers x 8 heads x 128 x 2 bytes").isEqualTo(114_688);
    }

    @Test
    void weights_that_do_not_fit_leave_no_block() throws IOException {
        assertThat(new Roofline(Models.named("llama-3.1-70b"), Gpu.L4, 1, 0.5, 0.7).pool(16).blocks()).isZero();
    }

    @Test
    void a_folder_with_a_config_is_a_model_and_other_forms_are_refused() throws IOException {
        String shape = """
                {"hidden_size": 192, "intermediate_size": 512, "vocab_size": 2048, "num_hidden_layers": 6,
                 "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 32, "tie_word_embeddings": true,
                 "max_position_embeddings": 2048%s}""";
        Files.writeString(folder.resolve("config.json"), shape.formatted(""));
        assertThat(Models.named(folder.toString()).parameters())
                .as("6 x (98,304 attention + 294,912 + 384) + 192 + 393,216").isEqualTo(2_755_008);

        Path other = Files.writeString(folder.resolve("other.json"), shape.formatted(", \"kv_lora_rank\": 512"));
        assertThatThrownBy(() -> Models.named(other.toString())).isInstanceOf(CostException.class)
                .hasMessageContaining("other.json").hasMessageContaining("kv_lora_rank");
        assertThatThrownBy(() -> Models.named("nowhere")).hasMessageContaining("mixtral-8x7b");
    }
}
