package dev.warmpath.worker.foreign.generate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.worker.foreign.generate.KnownTokens.Token;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import tools.jackson.core.JacksonException;

class KnownTokensTest {

    @Test
    void words_of_ascii_letters_are_known_whatever_stands_for_the_space_before_and_no_others() throws IOException {
        assertThat(read("""
                {"version": "1.0", "model": {"type": "BPE", "merges": [["a", "b"]], "vocab":
                  {"abc": 7, "\u0120world": 8, "\u2581Word": 9, "ab": 10, "##ing": 11, "na\u00efve": 12, "\u0120": 13,
                   "x1y": 14, "odd": "id", "low</w>": 15, "less": -1}}, "added_tokens": []}""").tokens())
                .containsExactly(word(7, "abc"), word(8, "world"), word(9, "Word"));
    }

    @Test
    void a_piece_of_unigrams_has_its_place_for_an_id() throws IOException {
        assertThat(read("""
                {"model": {"vocab": [["<unk>", 0], ["\u2581the", -3.5], 5, ["other", -4, {"a": [1]}], []]}}""")
                .tokens())
                .containsExactly(word(1, "the"), word(3, "other"));
    }

    @Test
    void added_tokens_of_plain_ascii_stand_behind_the_words_and_hide_those_of_the_same_ids() throws IOException {
        assertThat(read("""
                {"added_tokens": [{"id": 3, "content": "<|end|>"}, {"id": 1, "content": " padded "},
                   {"id": 2, "content": " "}, {"content": "nowhere"}, {"id": 4, "content": "\u00f5"},
                   {"id": 5, "content": "\u2581<PRE>"}, {"id": 6, "content": "<\uff5cend\uff5c>"}],
                 "model": {"vocab": {"one": 1, "two": 2}}}""")
                .tokens()).containsExactly(word(2, "two"), added(1, "padded"), added(3, "<|end|>"));
    }

    @Test
    void of_many_some_are_taken_from_the_first_to_the_last() throws IOException {
        try (InputStream file = Files.newInputStream(Path.of("../models/warmpath-tiny/tokenizer.json"))) {
            KnownTokens tiny = KnownTokens.read(file);
            assertThat(tiny.tokens().stream().filter(token -> !token.isAdded())).hasSize(32)
                    .doesNotHaveDuplicates().isSortedAccordingTo((a, b) -> a.id() - b.id());
            assertThat(tiny.tokens().stream().filter(Token::isAdded).map(Token::id))
                    .containsExactly(2042, 2043, 2044, 2045, 2046, 2047);
        }
    }

    @Test
    void what_is_no_tokenizer_has_no_tokens_and_what_is_no_json_is_refused() throws IOException {
        assertThat(read("[1]").tokens()).isEmpty();
        assertThat(read("{\"model\": 3, \"added_tokens\": {\"a\": 1}}").tokens()).isEmpty();
        assertThatThrownBy(() -> read("{\"model\": {")).isInstanceOf(JacksonException.class);
    }

    private static Token word(int id, String text) {
        return new Token(id, text, /* isAdded */ false);
    }

    private static Token added(int id, String text) {
        return new Token(id, text, /* isAdded */ true);
    }

    private static KnownTokens read(String json) throws IOException {
        return KnownTokens.read(new ByteArrayInputStream(json.getBytes(StandardCharsets.UTF_8)));
    }
}
