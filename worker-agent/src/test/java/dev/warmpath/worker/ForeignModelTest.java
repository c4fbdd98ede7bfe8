package dev.warmpath.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.protocol.fleet.ModelDescription;
import dev.warmpath.worker.foreign.generate.EngineFacts;
import dev.warmpath.worker.foreign.generate.EngineKind;
import dev.warmpath.worker.model.Quantization;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.context.properties.bind.Binder;

/** A folder with the text of a model, beside an engine that serves 2,048 tokens of it in blocks of 32. */
class ForeignModelTest {

    private static final KvProperties KV = new Binder().bindOrCreate("warmpath.kv", KvProperties.class);

    @TempDir
    private Path folder;

    @BeforeEach
    void write() throws IOException {
        Files.copy(Path.of("../models/warmpath-tiny/tokenizer.json"), folder.resolve("tokenizer.json"));
        Files.writeString(folder.resolve("config.json"), "{\"vocab_size\": 2048}");
    }

    @Test
    void the_engine_tells_name_context_and_blocks_and_the_folder_the_vocabulary() throws IOException {
        ModelDescription model = read(null, null, engine("/models/m", 2_048, 32));

        assertThat(model.name()).isEqualTo("served");
        assertThat(model.contextLength()).isEqualTo(2_048);
        assertThat(model.vocabularySize()).isEqualTo(2_048);
        assertThat(model.parts().blockSize()).isEqualTo(32);
        assertThat(read("other", 512, engine("/models/m", 2_048, 32)))
                .satisfies(one -> assertThat(one.name()).isEqualTo("other"))
                .satisfies(one -> assertThat(one.contextLength()).isEqualTo(512));
    }

    @Test
    void the_text_part_of_a_model_that_sees_has_the_vocabulary() throws IOException {
        Files.writeString(folder.resolve("config.json"), "{\"text_config\": {\"vocab_size\": 300}}");
        assertThat(read(null, null, engine("m", 2_048, 32)).vocabularySize()).isEqualTo(300);
    }

    @Test
    void engines_that_were_started_from_the_same_are_one_revision_and_others_are_not() throws IOException {
        String revision = read(null, null, engine("/models/m", 2_048, 32)).revision();

        assertThat(read(null, null, engine("/models/m", 2_048, 32)).revision()).isEqualTo(revision);
        assertThat(read(null, null, engine("/models/tuned", 2_048, 32)).revision()).isNotEqualTo(revision);
        assertThat(read(null, null, engine("/models/m", 2_048, 16)).revision()).isNotEqualTo(revision);
        Files.writeString(folder.resolve("model.safetensors"), "weights that nobody reads");
        assertThat(read(null, null, engine("/models/m", 2_048, 32)).revision()).isNotEqualTo(revision);
    }

    @Test
    void what_does_not_go_together_is_a_sentence() throws IOException {
        refused(null, engine("m", 0, 32), "the engine does not say how long its context is");
        refused(4_096, engine("m", 2_048, 32), "is 4096, but the engine serves 2048 tokens");
        refused(null, engine("m", 2_048, 2_048), "blocks have 2048 tokens, and routers take at most 1024");
        Files.writeString(folder.resolve("config.json"), "{}");
        refused(null, engine("m", 2_048, 32), "has no vocab_size");
        Files.writeString(folder.resolve("config.json"), "{");
        refused(null, engine("m", 2_048, 32), "is not JSON");
        Files.delete(folder.resolve("config.json"));
        refused(null, engine("m", 2_048, 32), "has no config.json: routers tokenize by the files of the engine's model");
    }

    private void refused(@Nullable Integer contextLength, EngineFacts engine, String sentence) {
        assertThatThrownBy(() -> read(null, contextLength, engine)).isInstanceOf(SettingsException.class)
                .hasMessageContaining(sentence);
    }

    private ModelDescription read(@Nullable String name, @Nullable Integer contextLength, EngineFacts engine)
            throws IOException {
        return ForeignModel.read(new ModelProperties(folder, name, contextLength, Quantization.NONE, null, null), KV,
                engine).description();
    }

    private static EngineFacts engine(String root, int contextLength, int blockSize) {
        return new EngineFacts(EngineKind.VLLM, "0.32.0", "served", root, contextLength,
                new EngineFacts.Cache(blockSize, 81, true), 0, Map.of());
    }
}
