package dev.warmpath.worker.model.source;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.process.GgufWriter;
import dev.warmpath.worker.model.weights.WeightFile;
import dev.warmpath.worker.model.weights.WeightFileException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.TreeSet;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which files of which folder are a model, and which are none of it. */
class ModelSourceTest {

    @TempDir
    private Path home;
    private Path folder;

    @BeforeEach
    void a_folder() throws IOException {
        folder = Files.createDirectory(home.resolve("model"));
    }

    /** One element each. */
    private static Path safetensors(Path file, String... tensors) throws IOException {
        var header = new StringBuilder("{");
        for (int i = 0; i < tensors.length; i++) {
            header.append(i == 0 ? "" : ",").append("\"%s\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[%d,%d]}"
                    .formatted(tensors[i], 2 * i, 2 * i + 2));
        }
        byte[] json = header.append('}').toString().getBytes(StandardCharsets.UTF_8);
        return Files.write(file, ByteBuffer.allocate(8 + json.length + 2 * tensors.length)
                .order(ByteOrder.LITTLE_ENDIAN).putLong(json.length).put(json).array());
    }

    private static List<String> tensors(ModelSource source) throws IOException {
        List<WeightFile> files = source.openWeights();
        var names = new TreeSet<String>();
        files.forEach(file -> file.tensors().forEach(tensor -> names.add(tensor.name())));
        files.forEach(WeightFile::close);
        return List.copyOf(names);
    }

    private static GgufWriter gguf() {
        return GgufWriter.llama(3).put("tokenizer.ggml.model", "gpt2").put("tokenizer.ggml.pre", "gpt-2")
                .put("tokenizer.ggml.tokens", List.of("a", "b", "<|end|>"))
                .put("tokenizer.ggml.token_type", new int[] {1, 1, 3})
                .put("tokenizer.ggml.merges", List.of()).put("tokenizer.ggml.eos_token_id", 2);
    }

    @Test
    void all_safetensors_of_a_folder_are_its_weights_in_order_of_their_names() throws IOException {
        safetensors(folder.resolve("b.safetensors"), "two");
        safetensors(folder.resolve("a.safetensors"), "one");
        Files.writeString(folder.resolve("config.json"), "{}");
        ModelSource source = ModelSource.of(folder);

        assertThat(source.weightFiles()).containsExactly(folder.toRealPath().resolve("a.safetensors"),
                folder.toRealPath().resolve("b.safetensors"));
        assertThat(tensors(source)).containsExactly("one", "two");
        assertThat(Objects.requireNonNull(source.file(ModelSource.CONFIG)).content()).asString().isEqualTo("{}");
        assertThat(source.file(ModelSource.TOKENIZER)).isNull();
    }

    // ---- links

    @Test
    void a_link_out_of_the_folder_is_not_followed_whatever_it_is() throws IOException {
        Path secret = Files.writeString(home.resolve("secret.json"), "{}");
        safetensors(folder.resolve("model.safetensors"), "one");
        Files.createSymbolicLink(folder.resolve("config.json"), secret);
        assertThatThrownBy(() -> ModelSource.of(folder).file(ModelSource.CONFIG))
                .isInstanceOf(FileSystemException.class).hasMessage("%s -> %s: %s", folder.resolve("config.json"),
                        secret.toRealPath(), "a link out of the model's folder is not followed");

        Path weights = safetensors(home.resolve("other"), "two");
        Files.createSymbolicLink(folder.resolve("other.safetensors"), Path.of("..", "other"));
        assertThatThrownBy(() -> ModelSource.of(folder)).isInstanceOf(FileSystemException.class)
                .hasMessageContaining("other.safetensors -> " + weights.toRealPath());

        Files.delete(folder.resolve("other.safetensors"));
        Files.createSymbolicLink(folder.resolve("model.safetensors.index.json"), secret);
        assertThatThrownBy(() -> ModelSource.of(folder)).isInstanceOf(FileSystemException.class)
                .hasMessageContaining("a link out of the model's folder is not followed");
    }

    @Test
    void a_gguf_file_of_a_folder_is_no_link_out_of_it_either() throws IOException {
        gguf().write(home.resolve("other.gguf"));
        Files.createSymbolicLink(folder.resolve("model.gguf"), home.resolve("other.gguf"));
        assertThatThrownBy(() -> ModelSource.of(folder)).isInstanceOf(FileSystemException.class)
                .hasMessageContaining("a link out of the model's folder is not followed");
        // whoever names the link itself means what it points to
        assertThat(ModelSource.of(folder.resolve("model.gguf")).weightFiles())
                .containsExactly(home.toRealPath().resolve("other.gguf"));
    }

    @Test
    void what_is_no_file_is_refused_and_so_is_a_link_to_nothing() throws IOException {
        safetensors(folder.resolve("model.safetensors"), "one");
        Files.createDirectory(folder.resolve("tokenizer.json"));
        assertThatThrownBy(() -> ModelSource.of(folder).file(ModelSource.TOKENIZER))
                .isInstanceOf(FileSystemException.class).hasMessageEndingWith("tokenizer.json: is no regular file");
        Files.createSymbolicLink(folder.resolve("config.json"), folder.resolve("gone"));
        assertThatThrownBy(() -> ModelSource.of(folder).file(ModelSource.CONFIG))
                .isInstanceOf(NoSuchFileException.class);
    }

    /** As Kubernetes mounts a volume of a ConfigMap. */
    @Test
    void links_within_the_folder_are_followed() throws IOException {
        Path version = Files.createDirectory(folder.resolve("..2026_11_26"));
        safetensors(version.resolve("model.safetensors"), "one");
        Files.createSymbolicLink(folder.resolve("..data"), Path.of("..2026_11_26"));
        Files.createSymbolicLink(folder.resolve("model.safetensors"), Path.of("..data", "model.safetensors"));

        assertThat(tensors(ModelSource.of(folder))).containsExactly("one");
    }

    /** A snapshot's files are links into the blobs beside it; into nothing else of the cache. */
    @Test
    void hugging_faces_cache_is_read_as_it_lies() throws IOException {
        Path repository = home.resolve("hub/models--warmpath--tiny");
        Path snapshot = Files.createDirectories(repository.resolve("snapshots/0123abc"));
        Path blobs = Files.createDirectory(repository.resolve("blobs"));
        safetensors(blobs.resolve("e1"), "one");
        Files.writeString(blobs.resolve("e2"), "{}");
        Files.createSymbolicLink(snapshot.resolve("model.safetensors"), Path.of("../../blobs/e1"));
        Files.createSymbolicLink(snapshot.resolve("config.json"), Path.of("../../blobs/e2"));
        ModelSource source = ModelSource.of(snapshot);
        assertThat(tensors(source)).containsExactly("one");
        assertThat(source.file(ModelSource.CONFIG)).isNotNull();

        Path other = Files.createDirectories(home.resolve("hub/models--warmpath--other/blobs"));
        Files.writeString(other.resolve("e3"), "{}");
        Files.createSymbolicLink(snapshot.resolve("tokenizer.json"), other.resolve("e3"));
        assertThatThrownBy(() -> source.file(ModelSource.TOKENIZER)).isInstanceOf(FileSystemException.class);
    }

    /** Large quantizations lie in folders of their own, each in some pieces. */
    @Test
    void a_folder_in_a_snapshot_is_read_like_the_snapshot() throws IOException {
        Path repository = home.resolve("hub/models--warmpath--tiny");
        Path quantized = Files.createDirectories(repository.resolve("snapshots/0123abc/Q6_K"));
        safetensors(Files.createDirectory(repository.resolve("blobs")).resolve("e1"), "one");
        Files.createSymbolicLink(quantized.resolve("model.safetensors"), Path.of("../../../blobs/e1"));
        assertThat(tensors(ModelSource.of(quantized))).containsExactly("one");
    }

    // ---- shards

    private void index(String map) throws IOException {
        Files.writeString(folder.resolve("model.safetensors.index.json"),
                "{\"metadata\": {\"total_size\": 4}, \"weight_map\": " + map + "}");
    }

    @Test
    void an_index_says_which_files_are_the_model() throws IOException {
        safetensors(folder.resolve("model-00001-of-00002.safetensors"), "one");
        safetensors(folder.resolve("model-00002-of-00002.safetensors"), "two", "three");
        safetensors(folder.resolve("consolidated.safetensors"), "one", "two");
        index("""
                {"one": "model-00001-of-00002.safetensors", "two": "model-00002-of-00002.safetensors",
                 "three": "model-00002-of-00002.safetensors"}""");
        ModelSource source = ModelSource.of(folder);

        assertThat(source.weightFiles()).extracting(Path::getFileName).hasToString(
                "[model-00001-of-00002.safetensors, model-00002-of-00002.safetensors]");
        assertThat(tensors(source)).containsExactly("one", "three", "two");
    }

    @Test
    void an_index_that_does_not_agree_with_its_shards_is_refused() throws IOException {
        safetensors(folder.resolve("a.safetensors"), "one");
        safetensors(folder.resolve("b.safetensors"), "two");
        index("{\"one\": \"a.safetensors\"}");
        assertThat(tensors(ModelSource.of(folder))).containsExactly("one");
        for (String[] wrong : new String[][] {
            {"{\"one\": \"b.safetensors\", \"two\": \"b.safetensors\"}", "tensor one at byte 0: does not lie in b"},
            {"{\"one\": \"a.safetensors\", \"two\": \"a.safetensors\"}", "tensor two at byte 0: does not lie in a"},
            {"{\"zero\": \"a.safetensors\"}", "tensor one at byte 0: lies in a.safetensors, but the index has nothing"},
            {"{\"one\": \"b.safetensors\", \"two\": \"a.safetensors\"}",
                "tensor one at byte 0: lies in a.safetensors, but the index has b.safetensors for it"},
            {"{\"one\": \"../a.safetensors\"}", "lies in no *.safetensors file of this folder"},
            {"{\"one\": \"/a.safetensors\"}", "lies in no *.safetensors file of this folder"},
            {"{\"one\": \"config.json\"}", "lies in no *.safetensors file of this folder"},
            {"{\"one\": 1}", "lies in no *.safetensors file of this folder"},
            {"[]", "weight_map is not a JSON object"},
            {"{\"one\": \"a.safetensors\", \"one\": \"b.safetensors\"}", "Duplicate"},
            {"{", "is not JSON"}}) {
            index(wrong[0]);
            assertThatThrownBy(() -> tensors(ModelSource.of(folder))).as(wrong[0])
                    .isInstanceOf(WeightFileException.class)
                    .hasMessageContainingAll("model.safetensors.index.json: ", wrong[1]);
        }
        index("{\"one\": \"c.safetensors\"}");
        assertThatThrownBy(() -> ModelSource.of(folder)).isInstanceOf(NoSuchFileException.class)
                .hasMessageContaining("c.safetensors").hasMessageContaining("model.safetensors.index.json names it");
    }

    @Test
    void a_whole_model_beside_an_index_of_another_is_refused() throws IOException {
        safetensors(folder.resolve("a.safetensors"), "one");
        safetensors(folder.resolve("model.safetensors"), "one");
        index("{\"one\": \"a.safetensors\"}");
        assertThatThrownBy(() -> ModelSource.of(folder)).isInstanceOf(FileSystemException.class)
                .hasMessageContaining("which of the two is the model?");
    }

    // ---- GGUF

    @Test
    void a_gguf_file_has_the_files_and_names_of_a_folder() throws IOException {
        ModelSource source = ModelSource.of(gguf().write(folder.resolve("model.gguf")));

        assertThat(tensors(source)).hasSize(11).contains("model.embed_tokens.weight",
                "model.layers.0.self_attn.q_proj.weight", "model.layers.0.post_attention_layernorm.weight");
        assertThat(content(source, ModelSource.CONFIG)).contains("\"model_type\" : \"llama\"", "\"head_dim\" : 4",
                "\"rms_norm_eps\" : 1.0E-5", "\"vocab_size\" : 3", "\"tie_word_embeddings\" : true");
        assertThat(content(source, ModelSource.GENERATION_CONFIG)).contains("\"eos_token_id\" : 2");
        assertThat(content(source, ModelSource.TOKENIZER_CONFIG)).contains("\"eos_token\" : \"<|end|>\"",
                "\"model_max_length\" : 64").doesNotContain("chat_template");
        assertThat(content(source, ModelSource.TOKENIZER)).contains("\"vocab\":{\"a\":0,\"b\":1,\"<|end|>\":2}");
    }

    private static String content(ModelSource source, String name) throws IOException {
        return new String(Objects.requireNonNull(source.file(name)).content(), StandardCharsets.UTF_8);
    }

    @Test
    void a_folder_of_one_gguf_file_stands_for_it_and_one_of_two_does_not() throws IOException {
        gguf().write(folder.resolve("b.gguf"));
        assertThat(ModelSource.of(folder).path()).isEqualTo(folder.resolve("b.gguf"));
        gguf().write(folder.resolve("a.GGUF"));
        assertThatThrownBy(() -> ModelSource.of(folder)).isInstanceOf(FileSystemException.class)
                .hasMessageEndingWith("has 2 GGUF models and no *.safetensors file; name one of [a.GGUF, b.gguf]");
    }

    @Test
    void a_file_that_was_split_is_read_as_a_whole() throws IOException {
        GgufWriter first = gguf().put("split.no", 0).put("split.count", 2).put("split.tensors.count", 11)
                .withoutTensor("blk.0.ffn_down.weight").withoutTensor("blk.0.ffn_up.weight");
        GgufWriter second = new GgufWriter().put("split.no", 1).put("split.count", 2).put("split.tensors.count", 11)
                .ones("blk.0.ffn_down.weight", 8, 16).ones("blk.0.ffn_up.weight", 16, 8);
        Path path = first.write(folder.resolve("m-00001-of-00002.gguf"));
        Path other = second.write(folder.resolve("m-00002-of-00002.gguf"));
        ModelSource source = ModelSource.of(path);
        assertThat(tensors(source)).hasSize(11).contains("model.layers.0.mlp.down_proj.weight");
        assertThat(source.weightFiles()).containsExactly(path.toRealPath(), other.toRealPath());
        assertThat(ModelSource.of(folder).weightFiles()).hasSize(2);

        second.ones("more", 1).write(other);
        assertThatThrownBy(() -> ModelSource.of(path)).isInstanceOf(WeightFileException.class)
                .hasMessageContaining("key split.tensors.count").hasMessageEndingWith("is 11, but there are 12 in all");
        second.put("split.no", 2).write(other);
        assertThatThrownBy(() -> ModelSource.of(path)).isInstanceOf(WeightFileException.class)
                .hasMessageContaining("key split.no").hasMessageEndingWith("is not 1 of 2");
        Files.delete(other);
        assertThatThrownBy(() -> ModelSource.of(path)).isInstanceOf(NoSuchFileException.class)
                .hasMessageContaining("m-00002-of-00002.gguf");
        Files.move(path, folder.resolve("m.gguf"));
        assertThatThrownBy(() -> ModelSource.of(folder.resolve("m.gguf"))).isInstanceOf(WeightFileException.class)
                .hasMessageEndingWith("is 2: the first of so many, up to 1000, is named …-00001-of-00002.gguf");
    }

    @Test
    void what_is_neither_is_refused_by_its_path() throws IOException {
        assertThatThrownBy(() -> ModelSource.of(folder)).isInstanceOf(FileSystemException.class)
                .hasMessage(folder + ": has no *.safetensors file and no *.gguf file");
        assertThatThrownBy(() -> ModelSource.of(home.resolve("gone"))).isInstanceOf(FileSystemException.class)
                .hasMessage(home.resolve("gone") + ": there is no such model");
        Path text = Files.writeString(home.resolve("model.bin"), "");
        assertThatThrownBy(() -> ModelSource.of(text)).isInstanceOf(FileSystemException.class)
                .hasMessage(text + ": is neither a folder nor a .gguf file");
        assertThatThrownBy(() -> ModelSource.of(home.resolve("gone.gguf"))).isInstanceOf(NoSuchFileException.class);
        Path device = Files.createSymbolicLink(home.resolve("zeros.gguf"), Path.of("/dev/zero"));
        assertThatThrownBy(() -> ModelSource.of(device)).isInstanceOf(FileSystemException.class)
                .hasMessage(device + ": is no regular file");
    }
}
