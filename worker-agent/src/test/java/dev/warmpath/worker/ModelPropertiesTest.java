package dev.warmpath.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.worker.model.Quantization;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Names that routers take, whatever the model lies in. */
class ModelPropertiesTest {

    @ParameterizedTest
    @CsvSource({
        "/models/warmpath-tiny, warmpath-tiny",
        "/models/warmpath-tiny/, warmpath-tiny",
        "/models/x/../Qwen2.5 0.5B, Qwen2.5-0.5B",
        "/models/Modèle \"1\", Mod-le--1-",
        "/models/Llama-3.2-1B.Q4_K_M.gguf, Llama-3.2-1B.Q4_K_M",
        "/models/big-00001-of-00003.GGUF, big",
        "/hub/models--Qwen--Qwen2.5-0.5B-Instruct/snapshots/7ae557604adf67be, Qwen2.5-0.5B-Instruct",
        "/hub/models--gpt2/snapshots/607a30d783dfa663, gpt2",
        "/snapshots/607a30d783dfa663, 607a30d783dfa663",
        "/, model"})
    void a_model_without_a_name_has_that_of_its_folder_or_file(Path path, String name) {
        assertThat(new ModelProperties(path, null, null, Quantization.NONE, null, null).servedName()).isEqualTo(name);
        assertThat(new ModelProperties(path, " ", null, Quantization.NONE, null, null).servedName()).isEqualTo(name);
        assertThat(new ModelProperties(path, "other", null, Quantization.NONE, null, null).servedName())
                .isEqualTo("other");
    }

    @Test
    void a_name_that_routers_would_refuse_is_refused_before_the_model_is_read() {
        for (String name : new String[] {"two words", "quo\"te", "back\\slash", "ä", "x".repeat(257)}) {
            assertThatThrownBy(() -> new ModelProperties(Path.of("model"), name, null, Quantization.NONE, null, null))
                    .isInstanceOf(SettingsException.class)
                    .hasMessageStartingWith("warmpath.model.name is '" + name + "'");
        }
        assertThat(new ModelProperties(Path.of("model"), "Qwen/Qwen2.5:0.5b", null, Quantization.NONE, null, null)
                .servedName()).isEqualTo("Qwen/Qwen2.5:0.5b");
    }
}
