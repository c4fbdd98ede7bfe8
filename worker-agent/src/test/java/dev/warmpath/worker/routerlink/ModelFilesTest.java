package dev.warmpath.worker.routerlink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.fleet.ModelDescription;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.core.io.ByteArrayResource;
import org.springframework.core.io.FileSystemResource;
import org.springframework.core.io.Resource;

class ModelFilesTest {

    /** {@code printf abc | sha256sum} */
    private static final String SHA256_OF_ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    @TempDir Path directory;
    private @Nullable Path digests;
    private String change = ModelFiles.UNCHANGED;

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

    /** {@code printf 'ba78…15ad int8' | sha256sum} */
    @Test
    void weights_that_are_changed_while_they_are_loaded_are_other_weights() throws IOException {
        String before = describe(16).revision();
        change = "int8";

        assertThat(describe(16).parts().weights())
                .isEqualTo("9368a0c0db155286389d52a80950a9b105c4cc7a65391cf3957ef06c3a5db1b4");
        assertThat(describe(16).revision()).isNotEqualTo(before);
    }

    @Test
    void a_chat_template_in_a_file_of_its_own_is_listed_and_part_of_the_revision() throws IOException {
        String before = describe(16).revision();
        Files.writeString(directory.resolve("chat_template.jinja"), "abc");

        assertThat(describe(16).parts().chatTemplate()).isEqualTo(SHA256_OF_ABC);
        assertThat(describe(16).revision()).isNotEqualTo(before);
        Files.delete(directory.resolve("chat_template.jinja"));
        assertThat(describe(16).parts().chatTemplate()).isEmpty();
        assertThat(describe(16).revision()).isEqualTo(before);
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
    void a_file_that_is_made_counts_and_is_served_as_one_that_is_stored() throws IOException {
        var made = new ByteArrayResource("abc".getBytes(StandardCharsets.US_ASCII), "tokenizer.json");
        ModelFiles files = ModelFiles.read(List.of(directory.resolve("model.safetensors")), ModelFiles.UNCHANGED,
                Map.of("tokenizer.json", made), digests, "tiny", HashSettings.ofBlockSize(16), 2_048, 512);

        assertThat(files.description().parts().tokenizer()).isEqualTo(SHA256_OF_ABC);
        assertThat(files.description().parts().config()).isEmpty();
        assertThat(files.file(SHA256_OF_ABC)).isSameAs(made);
    }

    @Test
    void a_file_that_routers_would_refuse_is_none_to_start_with() {
        var large = new ByteArrayResource(new byte[0], "tokenizer.json") {
            @Override
            public long contentLength() {
                return (64 << 20) + 1;
            }
        };
        assertThatThrownBy(() -> ModelFiles.read(List.of(directory.resolve("model.safetensors")), ModelFiles.UNCHANGED,
                Map.of("tokenizer.json", large), null, "tiny", HashSettings.ofBlockSize(16), 2_048, 512))
                .isInstanceOf(IOException.class).hasMessageContaining("has 67108865 bytes, routers take 67108864");
    }

    /** A second reading would tell the difference; that size and time are the same is all there is to go by. */
    @Test
    void a_kept_digest_counts_until_size_or_time_differ() throws IOException {
        digests = directory.resolve("not/yet/there/digests");
        Path weights = directory.resolve("model.safetensors");
        describe(16);
        Files.writeString(weights, "abd");

        Files.setLastModifiedTime(weights, FileTime.from(Instant.ofEpochSecond(1_700)));
        assertThat(describe(16).parts().weights()).isEqualTo(SHA256_OF_ABC);
        Files.setLastModifiedTime(weights, FileTime.from(Instant.ofEpochSecond(1_701)));
        String later = describe(16).parts().weights();
        assertThat(later).isNotEqualTo(SHA256_OF_ABC);
        Files.writeString(weights, "abcd");
        Files.setLastModifiedTime(weights, FileTime.from(Instant.ofEpochSecond(1_701)));
        assertThat(describe(16).parts().weights()).isNotEqualTo(later);
        assertThat(digests).content().hasLineCount(1);
    }

    /** On a file system whose clock ticks in seconds, what is written next may look the same. */
    @Test
    void the_digest_of_a_file_that_was_changed_just_now_is_not_kept() throws IOException {
        digests = directory.resolve("digests");
        Files.setLastModifiedTime(directory.resolve("model.safetensors"), FileTime.from(Instant.now().plusSeconds(60)));
        describe(16);

        assertThat(digests).doesNotExist();
    }

    @Test
    void what_is_no_file_of_digests_is_not_believed_and_written_anew() throws IOException {
        digests = Files.writeString(directory.resolve("digests"), "e".repeat(64) + "\tmany\t1970-01-01T00:28:20Z\t"
                + directory.toRealPath().resolve("model.safetensors") + "\n");
        assertThat(describe(16).parts().weights()).isEqualTo(SHA256_OF_ABC);
        assertThat(digests).content().isEqualTo(SHA256_OF_ABC + "\t3\t1970-01-01T00:28:20Z\t"
                + directory.toRealPath().resolve("model.safetensors") + "\n");

        Files.write(digests, new byte[] {(byte) 0xff, 0, (byte) 0xfe});
        assertThat(describe(16).parts().weights()).isEqualTo(SHA256_OF_ABC);
    }

    @Test
    void a_thousand_digests_are_kept_and_then_the_oldest_goes() throws IOException {
        digests = Files.write(directory.resolve("digests"), IntStream.range(0, 1_000)
                .mapToObj(i -> "e".repeat(64) + "\t3\t1970-01-01T00:28:20Z\t/models/" + i).toList());
        describe(16);

        assertThat(Files.readAllLines(digests)).hasSize(1_000).noneMatch(line -> line.endsWith("/models/0"))
                .last().asString().startsWith(SHA256_OF_ABC);
    }

    @Test
    void where_nothing_can_be_written_weights_are_read_at_every_start() throws IOException {
        digests = directory.resolve("config.json/digests");

        assertThat(describe(16).parts().weights()).isEqualTo(SHA256_OF_ABC);
    }

    private ModelDescription describe(int blockSize) throws IOException {
        List<Path> weights;
        try (var all = Files.list(directory)) {
            weights = all.filter(file -> file.toString().endsWith(".safetensors")).sorted().toList();
        }
        Map<String, Resource> files = new HashMap<>();
        for (String name : ModelFiles.LISTED) {
            var file = new FileSystemResource(directory.resolve(name));
            if (file.exists()) {
                files.put(name, file);
            }
        }
        return ModelFiles.read(weights, change, files, digests, "tiny", HashSettings.ofBlockSize(blockSize), 2_048, 512)
                .description();
    }
}
