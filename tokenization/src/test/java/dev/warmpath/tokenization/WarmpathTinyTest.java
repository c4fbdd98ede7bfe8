package dev.warmpath.tokenization;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.warmpath.tokenization.template.ChatMessage;
import dev.warmpath.tokenization.template.TemplateException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The model in the repository, through the same door as a worker's files. */
class WarmpathTinyTest {
    private static final Path MODEL = Path.of("../models/warmpath-tiny");
    private static final int BEGIN = 2042;
    private static final int END = 2043;
    private static final int SYSTEM = 2044;
    private static final int USER = 2045;
    private static final int ASSISTANT = 2046;

    private final ModelTokenizer tokenizer = new ModelTokenizer(files(read("tokenizer_config.json")));

    private static byte[] read(String name) {
        try {
            return Files.readAllBytes(MODEL.resolve(name));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static ModelFiles files(byte[] tokenizerConfig) {
        return new ModelFiles(
                read("tokenizer.json"), tokenizerConfig, read("generation_config.json"), read("config.json"));
    }

    @Test
    void the_12_golden_prompts_have_their_golden_tokens() {
        JsonNode prompts = JsonMapper.shared().readTree(read("golden.json")).path("prompts");
        assertThat(prompts).hasSize(12);
        for (JsonNode prompt : prompts) {
            int[] expected = StreamSupport.stream(prompt.path("tokens").spliterator(), false)
                    .mapToInt(JsonNode::asInt).toArray();
            assertThat(tokenizer.encode(prompt.path("text").asString(), false))
                    .as(prompt.path("name").asString()).isEqualTo(expected);
        }
    }

    @Test
    void a_text_is_known_to_be_too_long_without_being_encoded_whole() {
        var random = new Random(7);
        for (int round = 0; round < 20; round++) {
            var text = new StringBuilder();
            while (text.length() < 100_000) {
                text.append(random.nextBoolean() ? " the key"
                        : " \uD83D\uDE80" + Integer.toString(random.nextInt(), 36));
            }
            int count = tokenizer.encode(text.toString(), false).length;
            assertThat(tokenizer.hasMoreTokensThan(text.toString(), count)).isFalse();
            assertThat(tokenizer.hasMoreTokensThan(text.toString(), count - count / 50)).isTrue();
        }
        // to the library 16 MB of this are 5 GB
        assertThat(tokenizer.hasMoreTokensThan("x7".repeat(8 << 20), 2_048)).isTrue();
    }

    @Test
    void its_files_say_2048_tokens_of_vocabulary_and_context_and_one_end() {
        assertThat(tokenizer.vocabularySize()).isEqualTo(2048);
        assertThat(tokenizer.contextLength()).isEqualTo(2048);
        assertThat(tokenizer.eosIds()).containsExactly(END);
        assertThat(tokenizer.bosToken()).isEqualTo("<|begin|>");
    }

    @Test
    void a_chat_begins_once_and_ends_where_the_assistant_speaks() {
        int[] ids = chat(tokenizer, new ChatMessage("system", " Be kind. "), new ChatMessage("user", "Hi <|end|>"));
        assertThat(tokenizer.decode(ids, false)).isEqualTo(
                "<|begin|><|system|>\nBe kind.<|end|>\n<|user|>\nHi <|end|><|end|>\n<|assistant|>\n");
        assertThat(Arrays.stream(ids).filter(tokenizer::isSpecial))
                .containsExactly(BEGIN, SYSTEM, END, USER, END, ASSISTANT);
    }

    private static int[] chat(ModelTokenizer tokenizer, ChatMessage... messages) {
        return tokenizer.encode(tokenizer.render(List.of(messages), true, Map.of()));
    }

    @Test
    void other_role_markers_in_the_template_file_make_another_prompt() {
        String edited = new String(read("tokenizer_config.json"), StandardCharsets.UTF_8).replace(
                "'<|user|>\\\\n' + message['content'] | trim + '<|end|>\\\\n'",
                "'<|begin|>human: ' + message['content'] | trim + '<|pad|>'");
        var other = new ModelTokenizer(files(edited.getBytes(StandardCharsets.UTF_8)));
        assertThat(other.decode(chat(other, new ChatMessage("user", "Hi")), false))
                .isEqualTo("<|begin|><|begin|>human: Hi<|pad|><|assistant|>\n");
        assertThat(tokenizer.decode(chat(tokenizer, new ChatMessage("user", "Hi")), false))
                .isEqualTo("<|begin|><|user|>\nHi<|end|>\n<|assistant|>\n");
    }

    /** Its longest token has 15 bytes. */
    @Test
    void the_least_number_of_tokens_is_told_from_the_length() {
        assertThat(tokenizer.leastTokens("a".repeat(15))).isEqualTo(1);
        assertThat(tokenizer.leastTokens("a".repeat(16))).isEqualTo(2);
        assertThat(TestTokenizers.METASPACE.leastTokens("a".repeat(100))).isEqualTo(1);
        String text = " the quick brown fox".repeat(200);
        assertThat(tokenizer.leastTokens(text)).isLessThanOrEqualTo(tokenizer.encode(text, false).length);
    }

    @Test
    void an_unknown_role_is_refused_in_the_templates_words() {
        var refusal = catchThrowableOfType(
                TemplateException.class, () -> chat(tokenizer, new ChatMessage("pirate", "Arr")));
        assertThat(refusal.kind()).isEqualTo(TemplateException.Kind.REFUSED);
        assertThat(refusal).hasMessage("Unknown role: pirate");
    }

    @Test
    void random_token_ids_come_out_piece_by_piece_as_the_whole() {
        var random = new Random(4);
        for (int round = 0; round < 1000; round++) {
            int[] ids = TestTokenizers.randomIds(random, random.nextInt(100), 2048);
            var detokenizer = new IncrementalDetokenizer(tokenizer);
            var pieces = new ArrayList<String>();
            Arrays.stream(ids).forEach(id -> pieces.add(detokenizer.accept(id)));
            pieces.add(detokenizer.finish());
            assertThat(String.join("", pieces)).isEqualTo(tokenizer.decode(ids));
        }
    }
}
