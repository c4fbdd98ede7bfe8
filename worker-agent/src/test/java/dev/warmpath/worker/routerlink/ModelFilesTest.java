package dev.warmpath.worker.routerlink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.fleet.ModelDescription;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ModelFilesTest {

    /** {@code printf abc | sha256sum} */
    private static final String SHA256_OF_ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    @TempDir Path directory;

    @BeforeEach
    void a_model_of_three_files() throws IOException {
        Files.writeString(directory.resolve("model.safetensors"), "abc");
        Files.setLastModifiedTime(directory.resolve("model.safetensors"), FileTime.from(Instant.ofEpochSecond(1_700)));
        Files.writeString(directory.resolve("config.json"), "{}");
        Files.writeString(directory.resolve("tokenizer.json"), "abc");
    }

    @Test
    void a_directory_is_described_by_the_digests_of_its_files() throws IOException {
        ModelDescription model = describe(16);

        assertThat(model.parts().weights()).isEqualTo(SHA256_OF_ABC);
        assertThat(model.parts().tokenizer()).isEqualTo(SHA256_OF_ABC);
        assertThat(model.parts().tokenizerConfig()).isEmpty();
        assertThat(model.createdSeconds()).isEqualTo(1_700);
        assertThat(model.revision()).isEqualTo(model.parts().revision());
        assertThat(model.contextLength()).isEqualTo(2_048);
        assertThat(model.vocabularySize()).isEqualTo(512);
    }

    @Test
    void weights_and_block_size_are_part_of_the_revision() throws IOException {
        String before = describe(16).revision();

        assertThat(describe(32).revision()).isNotEqualTo(before);
        Files.writeString(directory.resolve("model.safetensors"), "abd");
        assertThat(describe(16).revision()).isNotEqualTo(before);
    }

    @Test
    void several_weights_files_count_together_and_the_latest_gives_the_time() throws IOException {
        String one = describe(16).parts().weights();
        Path second = Files.writeString(directory.resolve("model-2.safetensors"), "def");
        Files.setLastModifiedTime(second, FileTime.from(Instant.ofEpochSecond(1_800)));

        assertThat(describe(16).parts().weights()).isNotEqualTo(one).hasSize(64);
        assertThat(describe(16).createdSeconds()).isEqualTo(1_800);
    }

    @Test
    void a_directory_without_weights_is_no_model() throws IOException {
        Files.delete(directory.resolve("model.safetensors"));

        assertThatThrownBy(() -> describe(16)).isInstanceOf(IOException.class)
                .hasMessage(directory + " has no *.safetensors file");
    }

    private ModelDescription describe(int blockSize) throws IOException {
        return ModelFiles.read(directory, "tiny", HashSettings.ofBlockSize(blockSize), 2_048, 512).description();
    }
}
