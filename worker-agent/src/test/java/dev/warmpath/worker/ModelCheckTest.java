package dev.warmpath.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.process.GgufWriter;
import dev.warmpath.process.SharedModels;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Folders as people have them: the model that ships, of which something is missing, broken or another thing. */
class ModelCheckTest {

    private static final Path WHOLE = Path.of("../models/warmpath-tiny").toAbsolutePath().normalize();
    private static final String POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 134\n";

    @TempDir
    Path folder;
    private Path model;

    @BeforeEach
    void copy() throws IOException {
        model = Files.createDirectory(folder.resolve("model"));
        try (Stream<Path> files = Files.list(WHOLE)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                Files.copy(file, model.resolve(file.getFileName()));
            }
        }
    }

    private void remove(String... names) throws IOException {
        for (String name : names) {
            Files.delete(model.resolve(name));
        }
    }

    private void write(String name, String content) throws IOException {
        Files.deleteIfExists(model.resolve(name));
        Files.writeString(model.resolve(name), content);
    }

    private static List<String> problems(Path path) {
        return ModelCheck.of(path).problems().stream().map(Problem::sentence).toList();
    }

    /** @param parts of the one sentence, with {@code MODEL} for the folder */
    private void assertProblem(String... parts) {
        assertThat(problems(model)).singleElement().asString()
                .contains(Stream.of(parts).map(part -> part.replace("MODEL", model.toString())).toList());
    }

    // ---- what is given

    @Test
    void a_whole_model_has_no_problem_whichever_way_it_is_named() throws IOException {
        Path link = Files.createSymbolicLink(folder.resolve("latest"), model);

        for (Path path : List.of(model, link, Path.of(model + "/"), model.resolve("../model"))) {
            ModelCheck check = ModelCheck.of(path);
            assertThat(check.problems()).isEmpty();
            assertThat(check.warnings()).isEmpty();
            assertThat(check.source()).isNotNull();
            assertThat(check.config()).extracting("contextLength").isEqualTo(2_048);
        }
    }

    @Test
    void a_models_name_on_the_hub_is_answered_with_how_to_fetch_it() {
        assertThat(problems(Path.of("Qwen/Qwen2.5-0.5B-Instruct"))).containsExactly("there is no folder "
                + "Qwen/Qwen2.5-0.5B-Instruct; if it is a model's name on the Hugging Face hub: nothing is fetched "
                + "from there. Fetch it, such as by 'hf download Qwen/Qwen2.5-0.5B-Instruct --local-dir "
                + "Qwen2.5-0.5B-Instruct', and give that folder");
    }

    @Test
    void a_path_to_nothing_is_told_from_a_link_to_nothing() throws IOException {
        Path link = Files.createSymbolicLink(folder.resolve("latest"), folder.resolve("gone"));

        assertThat(problems(folder.resolve("gone"))).singleElement().asString()
                .startsWith("there is no folder " + folder.resolve("gone") + ". Give the model's, a folder in Hugging");
        assertThat(problems(link)).containsExactly(
                link + " is a link to something that is not there. Give the model's folder");
    }

    @Test
    void a_file_of_a_model_is_answered_with_its_folder() {
        assertThat(problems(model.resolve("model.safetensors"))).singleElement().asString()
                .contains("model.safetensors is a file, and a model is a folder").endsWith("Give " + model);
    }

    @Test
    void a_folder_of_another_kind_is_told_by_what_lies_there() throws IOException {
        Path other = Files.createDirectory(folder.resolve("other"));
        assertThat(problems(other)).singleElement().asString().startsWith(other + " holds no model. Give the model's");

        Path snapshot = Files.createDirectories(other.resolve("snapshots/a09a3545"));
        Files.createFile(snapshot.resolve("config.json"));
        assertThat(problems(other)).containsExactly(
                other + " has no config.json; there is one in " + snapshot + ". Give that folder");

        Files.createFile(other.resolve("adapter_config.json"));
        assertThat(problems(other)).singleElement().asString().contains("holds an adapter (LoRA), not a model");
    }

    // ---- config.json

    @Test
    void numbers_that_only_python_writes_are_read_wherever_the_configuration_is() throws IOException {
        remove("generation_config.json");
        String config = Files.readString(model.resolve("config.json"));
        write("config.json", config.replace("\"initializer_range\": 0.02", "\"initializer_range\": Infinity"));
        assertThat(problems(model)).isEmpty();
    }

    @Test
    void what_is_no_file_is_not_waited_for_and_what_lies_elsewhere_is_not_read() throws Exception {
        remove("config.json");
        assertThat(new ProcessBuilder("mkfifo", model.resolve("config.json").toString()).start().waitFor()).isZero();
        assertProblem("config.json in MODEL is no file");

        remove("config.json");
        Files.writeString(folder.resolve("secret"), "secret");
        Files.createSymbolicLink(model.resolve("config.json"), folder.resolve("secret"));
        assertProblem("config.json in MODEL: a link that leads out of the folder is not followed");
    }

    @Test
    void a_configuration_that_is_missing_or_none_is_a_problem() throws IOException {
        remove("config.json");
        assertProblem("MODEL has no config.json");

        Files.createSymbolicLink(model.resolve("config.json"), folder.resolve("gone"));
        assertProblem("config.json in MODEL is a link to something that is not there");

        write("config.json", POINTER);
        assertProblem("config.json in MODEL is no more than a pointer of Git LFS. Fetch it by 'git lfs pull'");
    }

    @Test
    void a_configuration_that_ends_early_is_a_problem_once() throws IOException {
        write("config.json", "{\"model_type\": \"llama\",");
        assertProblem("MODEL/config.json is not JSON: Unexpected end-of-input");
    }

    @Test
    void a_key_that_nobody_understands_is_named() throws IOException {
        write("config.json", Files.readString(WHOLE.resolve("config.json"))
                .replace("\"rope_scaling\": null", "\"rotary_direction\": \"left\""));
        assertProblem("MODEL/config.json", "rotary_direction");
    }

    @Test
    void end_tokens_that_are_none_are_found_before_a_request_asks_for_them() throws IOException {
        write("generation_config.json", "{\"eos_token_id\": \"<|end|>\"}");
        assertProblem("MODEL/generation_config.json: eos_token_id is \"<|end|>\", not a token id");
    }

    // ---- tokenizer and template

    @Test
    void a_tokenizer_that_is_missing_is_a_problem_with_what_can_be_done() throws IOException {
        remove("tokenizer.json");
        assertProblem("MODEL has no tokenizer.json. Fetch it, too");

        write("vocab.json", "{}");
        write("merges.txt", "");
        assertProblem("MODEL has no tokenizer.json. There are vocab.json and merges.txt: convert them, such as by");

        write("tokenizer.model", "");
        assertProblem("MODEL has no tokenizer.json. There is a tokenizer.model: convert it, such as by transformers");
    }

    @Test
    void a_tokenizer_that_is_no_json_object_is_a_problem() throws IOException {
        write("tokenizer.json", Files.readString(WHOLE.resolve("tokenizer.json")).substring(0, 70_000));
        assertProblem("tokenizer.json in MODEL is not JSON", "Fetch it again; a download may have broken off");

        write("tokenizer.json", "[]");
        assertProblem("tokenizer.json in MODEL is not a JSON object");

        write("tokenizer.json", POINTER);
        assertProblem("tokenizer.json in MODEL is no more than a pointer of Git LFS");
    }

    @Test
    void a_tokenizer_longer_than_routers_take_is_a_problem_before_they_say_so() throws IOException {
        remove("tokenizer.json");
        try (var sparse = new RandomAccessFile(model.resolve("tokenizer.json").toFile(), "rw")) {
            sparse.setLength((64 << 20) + 1);
        }
        assertProblem("tokenizer.json in MODEL has 67,108,865 bytes, takes 67,108,864");
    }

    @Test
    void a_model_without_a_chat_template_is_served_with_a_warning() throws IOException {
        write("tokenizer_config.json", "{\"chat_template\": null}");
        assertThat(ModelCheck.of(model).problems()).isEmpty();
        assertThat(ModelCheck.of(model).warnings()).containsExactly(model + ": tokenizer_config.json has no "
                + "chat_template, so chat is answered with an error; completions work");

        remove("tokenizer_config.json");
        assertThat(ModelCheck.of(model).warnings()).singleElement().asString()
                .contains("there is no tokenizer_config.json");

        write("chat_template.jinja", "{{ messages[0].content }}");
        assertThat(ModelCheck.of(model).warnings()).isEmpty();
    }

    @Test
    void a_chat_template_that_is_none_is_a_problem_and_so_is_a_tokenizers_configuration_beside_it() throws IOException {
        write("chat_template.jinja", POINTER);
        assertProblem("chat_template.jinja in MODEL is no more than a pointer of Git LFS");

        remove("chat_template.jinja");
        try (var sparse = new RandomAccessFile(model.resolve("chat_template.jinja").toFile(), "rw")) {
            sparse.setLength((64 << 20) + 1);
        }
        assertProblem("chat_template.jinja in MODEL has 67,108,865 bytes, takes 67,108,864");

        write("chat_template.jinja", "{{ messages[0].content }}");
        write("tokenizer_config.json", "{");
        assertProblem("tokenizer_config.json in MODEL is not JSON");
    }

    // ---- weights

    @Test
    void weights_that_are_missing_or_of_another_kind_are_a_problem() throws IOException {
        remove("model.safetensors");
        assertProblem("MODEL has no *.safetensors. Fetch the weights, too");
        assertThat(ModelCheck.of(model).source()).isNull();

        write("pytorch_model.bin", "");
        assertProblem("MODEL has no *.safetensors, only pytorch_model.bin, which is not read. Convert it, such as by");
    }

    @Test
    void weight_files_that_the_index_names_and_nobody_has_are_listed() throws IOException {
        write("model.safetensors.index.json",
                "{\"weight_map\": {\"a\": \"model.safetensors\", \"b\": \"model-2.safetensors\"}}");
        assertProblem("MODEL lacks 1 of its weight files: model-2.safetensors. Fetch what is missing");
        assertThat(ModelCheck.of(model).source()).isNull();
    }

    @Test
    void weight_files_that_the_others_count_with_are_listed() throws IOException {
        remove("model.safetensors");
        write("model-00002-of-00007.safetensors", "");
        assertProblem("MODEL lacks 6 of its weight files: model-00001-of-00007.safetensors, ",
                "model-00006-of-00007.safetensors and 1 more");
    }

    @Test
    void weights_that_are_pointers_to_weights_are_a_problem() throws IOException {
        write("model.safetensors", POINTER);
        assertProblem("model.safetensors in MODEL is no more than a pointer of Git LFS. Fetch it by 'git lfs pull'");
    }

    @Test
    void a_link_out_of_the_folder_is_named_and_one_within_is_followed() throws IOException {
        Path elsewhere = Files.move(model.resolve("model.safetensors"), folder.resolve("elsewhere"));
        Files.createSymbolicLink(model.resolve("model.safetensors"), elsewhere);
        assertProblem("model.safetensors in MODEL: a link that leads out of the folder is not followed");

        remove("model.safetensors");
        Files.move(elsewhere, model.resolve("content"));
        Files.createSymbolicLink(model.resolve("model.safetensors"), Path.of("content"));
        assertThat(problems(model)).isEmpty();
    }

    // ---- GGUF

    /** The smallest that is one: three tokens, of which one ends a text. */
    private static GgufWriter gguf() {
        return GgufWriter.llama(3).put("tokenizer.ggml.model", "gpt2").put("tokenizer.ggml.pre", "gpt-2")
                .put("tokenizer.ggml.tokens", List.of("a", "b", "<|end|>"))
                .put("tokenizer.ggml.token_type", new int[] {1, 1, 3}).put("tokenizer.ggml.merges", List.of())
                .put("tokenizer.ggml.eos_token_id", 2);
    }

    @Test
    void a_gguf_file_has_everything_in_it_but_maybe_a_template() throws IOException {
        Path file = gguf().put("tokenizer.chat_template", "{{ messages }}").write(folder.resolve("a.gguf"));
        ModelCheck check = ModelCheck.of(file);
        assertThat(check.problems()).isEmpty();
        assertThat(check.warnings()).isEmpty();
        assertThat(check.config()).extracting("contextLength").isEqualTo(64);
        assertThat(check.source()).isNotNull();

        assertThat(ModelCheck.of(gguf().write(file)).warnings()).containsExactly(file + ": it has no "
                + "tokenizer.chat_template, so chat is answered with an error; completions work");
    }

    @Test
    void faults_of_a_gguf_files_configuration_vocabulary_and_template_are_told_together() throws IOException {
        Path file = gguf().put("tokenizer.ggml.merges", List.of("a c")).put("tokenizer.chat_template", 5)
                .write(folder.resolve("a.gguf"));
        assertThat(problems(file)).satisfiesExactly(
                merges -> assertThat(merges).contains("key tokenizer.ggml.merges", "has merge 0, 'a c'"),
                template -> assertThat(template).contains("key tokenizer.chat_template", "is no string"));
        assertThat(ModelCheck.of(file).config()).as("what else is wrong with it can be told").isNotNull();

        gguf().put("llama.expert_kind", "any").put("tokenizer.ggml.pre", "unheard").write(file);
        assertThat(problems(file)).satisfiesExactly(
                config -> assertThat(config).contains("key llama.expert_kind"),
                words -> assertThat(words).contains("key tokenizer.ggml.pre", "is unheard"));
    }

    /** Each control character is six in JSON. */
    @Test
    void a_vocabulary_that_makes_a_longer_tokenizer_than_routers_take_is_a_problem() throws IOException {
        List<String> tokens = IntStream.range(0, 180).mapToObj(id -> "\1".repeat(65_000) + id).toList();
        Path file = GgufWriter.llama(180).put("tokenizer.ggml.model", "gpt2").put("tokenizer.ggml.pre", "gpt-2")
                .put("tokenizer.ggml.tokens", tokens).put("tokenizer.ggml.merges", List.of())
                .put("tokenizer.chat_template", "{{ messages }}").write(folder.resolve("a.gguf"));

        assertThat(problems(file)).singleElement().asString().contains("key tokenizer.ggml.tokens",
                "makes a tokenizer.json of more than 67,108,864 bytes, which is what routers take");
    }

    @Test
    void a_published_gguf_file_is_well_and_one_whose_merges_are_broken_is_told_before_a_weight_is_read()
            throws IOException {
        Path published = SharedModels.find("smollm2-135m-instruct").resolve("SmolLM2-135M-Instruct.Q4_1.gguf");
        assertThat(ModelCheck.of(published).problems()).isEmpty();
        assertThat(ModelCheck.of(published).warnings()).isEmpty();

        Path tiny = SharedModels.find("tiny-gguf").resolve("tiny-q4_0.gguf");
        assertThat(problems(tiny)).isEmpty();
        String bytes = Files.readString(tiny, StandardCharsets.ISO_8859_1);
        Path broken = Files.writeString(folder.resolve("tiny.gguf"), bytes.replace("th e", "the "),
                StandardCharsets.ISO_8859_1);
        assertThat(problems(broken)).singleElement().asString().contains("has merge 1, 'the '");
    }

    /** As many repositories have it; the GGUF file is the model, whatever the configuration says. */
    @Test
    void a_folder_with_one_gguf_file_and_a_configuration_stands_for_the_file() throws IOException {
        Path path = Files.createDirectory(folder.resolve("quantized"));
        Files.writeString(path.resolve("config.json"), "{\"model_type\": \"llama\"}");
        gguf().put("tokenizer.chat_template", "{{ messages }}").write(path.resolve("a.gguf"));

        ModelCheck check = ModelCheck.of(path);

        assertThat(check.problems()).isEmpty();
        assertThat(check.config()).extracting("contextLength").isEqualTo(64);
    }

    @Test
    void a_gguf_file_that_ends_early_is_a_sentence() throws IOException {
        Path file = folder.resolve("a.gguf");
        byte[] whole = gguf().bytes();
        Files.write(file, Arrays.copyOf(whole, whole.length - 1));

        assertThat(problems(file)).singleElement().asString().startsWith(file + ": ")
                .endsWith(". If a download has broken off, fetch the file again");
    }

    @Test
    void a_folder_of_gguf_files_is_asked_which_of_them() throws IOException {
        Path files = Files.createDirectory(folder.resolve("files"));
        gguf().write(files.resolve("a.gguf"));
        assertThat(problems(files)).isEmpty();

        gguf().write(files.resolve("b.gguf"));
        assertThat(problems(files)).singleElement().asString().contains("name one of [a.gguf, b.gguf]");
    }

    // ---- all at once

    @Test
    void five_problems_are_five_sentences_at_the_first_time() throws IOException {
        remove("model.safetensors");
        write("pytorch_model-00001-of-00002.bin", "");
        write("config.json", "{}");
        write("tokenizer.json", "");
        write("generation_config.json", "{");
        write("tokenizer_config.json", "nothing");

        assertThat(problems(model)).satisfiesExactly(
                config -> assertThat(config).contains("config.json: model_type is missing"),
                tokenizer -> assertThat(tokenizer).startsWith("tokenizer.json in "),
                tokenizerConfig -> assertThat(tokenizerConfig).startsWith("tokenizer_config.json in "),
                generation -> assertThat(generation).startsWith("generation_config.json in "),
                weights -> assertThat(weights).contains("only pytorch_model-00001-of-00002.bin"));
    }
}
