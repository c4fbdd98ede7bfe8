package dev.warmpath.tokenization;

import static dev.warmpath.tokenization.TestTokenizers.BYTE_LEVEL;
import static dev.warmpath.tokenization.TestTokenizers.METASPACE;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.json.JsonMapper;

class IncrementalDetokenizerTest {
    private static List<String> pieces(ModelTokenizer tokenizer, int[] ids) {
        var detokenizer = new IncrementalDetokenizer(tokenizer);
        var pieces = new ArrayList<String>();
        for (int id : ids) {
            pieces.add(detokenizer.accept(id));
        }
        pieces.add(detokenizer.finish());
        return pieces;
    }

    @Test
    void a_character_of_four_tokens_comes_out_whole_with_the_last() {
        int[] ids = IntStream.of(0xF0, 0x9F, 0xA6, 0x84).map(IncrementalDetokenizerTest::byteToken).toArray();
        assertThat(pieces(BYTE_LEVEL, ids)).containsExactly("", "", "", "🦄", "");
    }

    /** The id of one byte in the byte-level vocabulary: the token that decodes to it alone. */
    private static int byteToken(int value) {
        // GPT-2's table: printable bytes stand for themselves, the others follow from U+0100 on
        boolean printable = value >= '!' && value <= '~' || value >= 0xA1 && value <= 0xAC || value >= 0xAE;
        long before = IntStream.range(0, value)
                .filter(b -> !(b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE)).count();
        String letter = Character.toString(printable ? value : 0x100 + (int) before);
        return JsonMapper.shared().readTree(TestTokenizers.resource("byte-level.json"))
                .path("model").path("vocab").path(letter).asInt();
    }

    @Test
    void ascii_comes_out_with_each_token() {
        int[] ids = BYTE_LEVEL.encode("The quick brown fox", false);
        List<String> pieces = pieces(BYTE_LEVEL, ids);
        assertThat(pieces.subList(0, ids.length)).doesNotContain("");
        assertThat(pieces.getLast()).isEmpty();
    }

    @Test
    void a_broken_character_waits_and_ends_as_a_replacement_character() {
        int half = byteToken(0xF0);
        int a = byteToken('a');
        assertThat(pieces(BYTE_LEVEL, new int[] {a, half})).containsExactly("a", "", "\uFFFD");
        assertThat(pieces(BYTE_LEVEL, new int[] {half, a})).containsExactly("", "\uFFFDa", "");
    }

    @Test
    void two_hundred_broken_bytes_come_out_before_the_end() {
        int[] ids = IntStream.range(0, 200).map(_ -> byteToken(0x80)).toArray();
        List<String> pieces = pieces(BYTE_LEVEL, ids);
        assertThat(String.join("", pieces)).isEqualTo("\uFFFD".repeat(200));
        assertThat(String.join("", pieces.subList(0, 100)).length()).isGreaterThan(75);
    }

    @Test
    void random_token_ids_give_the_text_of_the_whole() {
        var random = new Random(2026);
        for (int round = 0; round < 1500; round++) {
            int[] ids = TestTokenizers.randomIds(random, random.nextInt(80), 483);
            List<String> pieces = pieces(BYTE_LEVEL, ids);
            assertThat(String.join("", pieces)).isEqualTo(BYTE_LEVEL.decode(ids));
            assertThat(pieces).noneMatch(IncrementalDetokenizerTest::splitsCharacter);
        }
    }

    @Test
    void random_bytes_give_the_text_of_the_whole() {
        var random = new Random(99);
        int[] bytes = IntStream.range(0, 256).map(IncrementalDetokenizerTest::byteToken).toArray();
        int[] hard = {0xE4, 0xBD, 0xA0, 0xF0, 0x9F, 0x98, 0x80, 0xED, 0xA0, 0xC3, 0xEF, 0xBF, 0xBD, 'a', ' ', 0xFF};
        for (int round = 0; round < 1500; round++) {
            int[] ids = IntStream.generate(() -> bytes[random.nextBoolean() ? hard[random.nextInt(16)]
                    : random.nextInt(256)]).limit(random.nextInt(100)).toArray();
            assertThat(String.join("", pieces(BYTE_LEVEL, ids))).isEqualTo(BYTE_LEVEL.decode(ids));
        }
    }

    @Test
    void text_in_many_scripts_gives_the_text_of_the_whole_whatever_the_decoder() {
        var random = new Random(5);
        for (int round = 0; round < 600; round++) {
            String text = TestTokenizers.randomText(random, random.nextInt(40));
            for (ModelTokenizer tokenizer : List.of(BYTE_LEVEL, METASPACE)) {
                int[] ids = tokenizer.encode(text, false);
                List<String> pieces = pieces(tokenizer, ids);
                assertThat(String.join("", pieces)).isEqualTo(tokenizer.decode(ids));
                assertThat(pieces).noneMatch(IncrementalDetokenizerTest::splitsCharacter);
            }
        }
    }

    private static boolean splitsCharacter(String piece) {
        return !piece.isEmpty() && (Character.isLowSurrogate(piece.charAt(0))
                || Character.isHighSurrogate(piece.charAt(piece.length() - 1)));
    }

    @Test
    void a_decoder_that_drops_the_first_space_drops_it_once() {
        int[] ids = METASPACE.encode("the quick brown fox jumps over the lazy dog", false);
        assertThat(String.join("", pieces(METASPACE, ids))).isEqualTo("the quick brown fox jumps over the lazy dog");
    }

    /** Token 7 is the byte 0. */
    private static int[] fallbackIds(int... bytes) {
        return IntStream.of(bytes).map(b -> 7 + b).toArray();
    }

    @Test
    void bytes_in_a_row_come_out_together_once_their_row_ends() {
        int[] ids = fallbackIds(0xE4, 0xBD, 0xA0, 0xF0, 0x9F, 0xA6, 0x84);
        assertThat(pieces(METASPACE, ids)).containsExactly("", "", "", "", "", "", "", "你🦄");
        int a = METASPACE.encode("xa", false)[2];
        assertThat(pieces(METASPACE, new int[] {ids[0], ids[1], ids[2], a, ids[0]}))
                .containsExactly("", "", "", "你a", "", "\uFFFD");
    }

    /** Each byte is one, those before the first that is wrong too; the next row begins anew. */
    @Test
    void bytes_in_a_row_that_are_no_text_come_out_as_soon_as_that_is_certain() {
        int a = METASPACE.encode("xa", false)[2];
        int[] ids = IntStream.concat(IntStream.of(fallbackIds(0xE4, 0xBD, 0xA0, 0xFF, 'x')),
                IntStream.concat(IntStream.of(a), IntStream.of(fallbackIds('x')))).toArray();
        assertThat(pieces(METASPACE, ids))
                .containsExactly("", "", "", "\uFFFD\uFFFD\uFFFD\uFFFD", "\uFFFD", "a", "", "x");
        assertThat(METASPACE.decode(ids)).isEqualTo("\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDax");
    }

    @Test
    void a_space_that_is_a_byte_is_dropped_at_the_beginning_too() {
        assertThat(pieces(METASPACE, fallbackIds(' ', ' '))).containsExactly("", "", " ");
    }

    @Test
    void special_tokens_leave_no_trace() {
        int[] ids = METASPACE.encode("the<|user|> quick<|end|>", false);
        List<String> pieces = pieces(METASPACE, ids);
        assertThat(String.join("", pieces)).isEqualTo(METASPACE.decode(ids)).doesNotContain("<|");
    }
}
