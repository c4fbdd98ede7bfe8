package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.process.GgufWriter;
import dev.warmpath.tokenization.ModelTokenizer;
import dev.warmpath.worker.model.source.ModelSource;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Tokenizers of GGUF files as routers read them, whose files the worker makes. */
class GgufTokenizersTest {

    private static final int CONTROL = 3;
    /** Whatever a pattern leaves together becomes one token. */
    private static final List<String> MERGES = List.of("1 2", "12 3", "123 4", "1234 5", "4 5", "' S", "a b", "Ġ ab",
            "Ġ Ġ", "ĠĠ Ġ", "! !");

    @TempDir
    private Path folder;

    private ModelTokenizer read(GgufWriter file) throws IOException {
        ModelSource source = ModelSource.of(file.write(folder.resolve("model.gguf")));
        return GgufTextTest.tokenizer(source);
    }

    /** Bytes, what the merges make, and two markers: begin and end. */
    static GgufWriter byteLevel(String pre) {
        List<String> tokens = new ArrayList<>();
        for (int letter = '!'; letter <= 0x143; letter++) {
            boolean spellsByte = letter <= '~' || letter >= '¡' && letter != 0xAD;
            if (spellsByte) {
                tokens.add(Character.toString(letter));
            }
        }
        MERGES.forEach(merge -> tokens.add(merge.replace(" ", "")));
        tokens.add("<|begin|>");
        tokens.add("<|end|>");
        var kinds = new int[tokens.size()];
        Arrays.fill(kinds, 1);
        kinds[tokens.size() - 2] = CONTROL;
        kinds[tokens.size() - 1] = CONTROL;
        return GgufWriter.llama(tokens.size()).put("tokenizer.ggml.model", "gpt2").put("tokenizer.ggml.pre", pre)
                .put("tokenizer.ggml.tokens", tokens).put("tokenizer.ggml.token_type", kinds)
                .put("tokenizer.ggml.merges", MERGES).put("tokenizer.ggml.bos_token_id", tokens.size() - 2)
                .put("tokenizer.ggml.eos_token_id", tokens.size() - 1);
    }

    private static String words(ModelTokenizer tokenizer, String text) {
        List<String> words = new ArrayList<>();
        for (int id : tokenizer.encode(text, /* addSpecialTokens */ true)) {
            words.add(tokenizer.decode(new int[] {id}, /* skipSpecialTokens */ false));
        }
        return String.join("/", words);
    }

    /** Digits, an ending in capitals, signs, and the last of some spaces tell the patterns apart. */
    @ParameterizedTest
    @CsvSource(delimiter = ';', ignoreLeadingAndTrailingWhitespace = true, value = {
        "gpt-2;            true;  12345/'/S/!!/  / ab", "exaone4;          true;  12345/'/S/!!/  / ab",
        "smollm;           true;  1/2/3/4/5/'/S/!!/  / ab", "starcoder;        true;  1/2/3/4/5/'/S/!!/  / ab",
        "refact;           true;  1/2/3/4/5/'/S/!!/  / ab", "command-r;        true;  1/2/3/4/5/'/S/!!/  / ab",
        "llama-bpe;        true;  <|begin|>/123/45/'S/!!/  / ab", "falcon3;       true;  <|begin|>/123/45/'S/!!/  / ab",
        "dbrx;             true;  123/45/'S/!!/  / ab", "smaug-bpe;        true;  123/45/'S/!!/  / ab",
        "glm4;             true;  123/45/'S/!!/  / ab", "qwen2;            true;  1/2/3/4/5/'S/!!/  / ab",
        "deepseek-r1-qwen; true;  1/2/3/4/5/'S/!!/  / ab", "tekken;           true;  <|begin|>/1/2/3/4/5/'S/!!/  / ab",
        "gpt-4o;           true;  123/45/'S/!!/  / ab", "llama4;           true;  123/45/'S/!!/  / ab",
        "deepseek-v3;      true;  123/45/'S/!!/  / ab", "deepseek-llm;     false; 12345/'/S/!!/  / ab",
        "deepseek-coder;   false; 1/2/3/4/5/'/S/!!/  / ab", "qwen35;           false; 1/2/3/4/5/'S/!!/  / ab",
        "falcon;           false; 123/45/'/S/!!/  / ab", "default;          false; 123/45/'/S/!!/  / ab",
        "bloom;            false; 12345/'S/!!/  / ab", "viking;           false; 1/2/3/4/5/'S/!!/  / ab",
        "seed-coder;       false; 1/2/3/4/5/'S/!!/  / ab", "bailingmoe;       false; 1/2/3/4/5/'S/!!/  / ab"})
    void a_name_cuts_texts_as_its_pattern_does(String pre, boolean ownEncoder, String words) throws IOException {
        ModelTokenizer tokenizer = read(byteLevel(pre));

        assertThat(words(tokenizer, "12345'S!!   ab")).isEqualTo(words);
        assertThat(tokenizer.hasOwnEncoder()).isEqualTo(ownEncoder);
        assertThat(words(tokenizer, "ab<|end|>")).endsWith("ab/<|end|>");
    }

    @Test
    void flags_of_the_file_decide_what_is_put_around_a_text() throws IOException {
        assertThat(words(read(byteLevel("llama-bpe").put("tokenizer.ggml.add_bos_token", false)), "ab"))
                .isEqualTo("ab");
        assertThat(words(read(byteLevel("gpt-2").put("tokenizer.ggml.add_bos_token", true)
                .put("tokenizer.ggml.add_eos_token", true)), "ab")).isEqualTo("<|begin|>/ab/<|end|>");
    }

    @Test
    void a_file_without_a_name_is_cut_by_default() throws IOException {
        assertThat(words(read(byteLevel("gone").without("tokenizer.ggml.pre")), "12345'S!!   ab"))
                .isEqualTo("123/45/'/S/!!/  / ab");
    }

    /** Of SentencePiece's own library. */
    @Test
    void texts_have_the_ids_that_sentencepiece_gives_them() throws IOException {
        JsonNode golden = golden();
        ModelTokenizer tokenizer = read(sentencePiece(golden));

        assertThat(tokenizer.hasOwnEncoder()).isTrue();
        assertThat(golden.path("texts").values()).hasSize(68).allSatisfy(line -> {
            String text = line.path("text").asString();
            int[] ids = line.path("ids").valueStream().mapToInt(JsonNode::intValue).toArray();
            assertThat(tokenizer.encode(text, /* addSpecialTokens */ false)).as(text).containsExactly(ids);
            assertThat(tokenizer.decode(ids)).isEqualTo(text);
        });
    }

    /** As llama.cpp has it: a space before whatever text comes after a marker, begin before all of it. */
    @Test
    void a_marker_of_sentencepiece_parts_texts_and_a_begin_token_is_put_before_them() throws IOException {
        ModelTokenizer tokenizer = read(sentencePiece(golden()));
        assertThat(words(tokenizer, "a<tool>b")).isEqualTo("<s>/a/<tool>/b");
        assertThat(tokenizer.encode("a<tool>b", false)).hasSize(3);
        assertThat(tokenizer.eosIds()).containsExactly(2);

        ModelTokenizer without = read(sentencePiece(golden()).put("tokenizer.ggml.add_space_prefix", false)
                .put("tokenizer.ggml.add_bos_token", false));
        assertThat(without.decode(without.encode(" a", true))).isEqualTo(" a");
        assertThat(without.encode(" a", true)).isEqualTo(tokenizer.encode("a", false));
    }

    /** Of all tensors of a llama, those of Phi's names are enough to see its tokenizer. */
    @Test
    void markers_of_phi_take_white_space_along() throws IOException {
        GgufWriter phi = sentencePiece(golden()).put("general.architecture", "phi3");
        for (String key : List.of("context_length", "embedding_length", "block_count", "feed_forward_length",
                "attention.head_count", "attention.head_count_kv")) {
            phi.put("phi3." + key, key.equals("context_length") ? 64 : 8);
        }
        ModelTokenizer tokenizer = read(phi.put("phi3.attention.layer_norm_rms_epsilon", 1e-5f));
        assertThat(tokenizer.encode("a</s> \n b", false)).isEqualTo(tokenizer.encode("a</s>b", false));
        assertThat(tokenizer.encode("a<unk> b", false)).isNotEqualTo(tokenizer.encode("a<unk>b", false));
    }

    private static JsonNode golden() throws IOException {
        try (InputStream file = Objects.requireNonNull(
                GgufTokenizersTest.class.getResourceAsStream("sentencepiece.json"))) {
            return JsonMapper.shared().readTree(file);
        }
    }

    private static GgufWriter sentencePiece(JsonNode golden) {
        List<String> tokens = golden.path("tokens").valueStream().map(JsonNode::asString).toList();
        var scores = new float[tokens.size()];
        for (int id = 0; id < scores.length; id++) {
            scores[id] = golden.path("scores").path(id).floatValue();
        }
        return GgufWriter.llama(tokens.size()).put("tokenizer.ggml.model", "llama").put("tokenizer.ggml.tokens", tokens)
                .put("tokenizer.ggml.scores", scores).put("tokenizer.ggml.token_type",
                        golden.path("types").valueStream().mapToInt(JsonNode::intValue).toArray());
    }
}
