package dev.warmpath.tokenization;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.tokenization.bpe.Utf8;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

class SpellingTest {

    /** Those whose vocabularies lack some characters are left out. */
    @ParameterizedTest
    @EnumSource(mode = Mode.EXCLUDE, names = {"DIGITS_LACKING", "LLAMA3_UNKNOWN", "METASPACE_APART"})
    void a_text_in_any_pieces_comes_back_as_it_was(Variant variant) {
        ModelTokenizer tokenizer = variant.tokenizer();
        var spelling = new Spelling(tokenizer);
        var random = new Random(7);
        for (int round = 0; round < 400; round++) {
            String text = Utf8.withoutLoneSurrogates(new HardTexts(round).next(24));
            var stream = new IncrementalDetokenizer(tokenizer, List.of(), /* continues */ true);
            var told = new StringBuilder();
            for (int at = 0; at < text.length();) {
                int end = Math.min(text.length(), at + 1 + random.nextInt(6));
                if (end < text.length() && Character.isLowSurrogate(text.charAt(end))) {
                    end++;
                }
                int[] ids = spelling.ofAnswer(text.substring(at, end));
                assertThat(ids).as("%s: '%s'", variant, text.substring(at, end)).isNotNull();
                for (int id : ids) {
                    told.append(stream.accept(id));
                }
                at = end;
            }
            assertThat(told + stream.finish()).as("%s, round %d", variant, round).isEqualTo(text);
        }
    }

    /** A piece that cannot be written is told so; all others come back whole. */
    @ParameterizedTest
    @EnumSource(names = {"DIGITS_LACKING", "LLAMA3_UNKNOWN", "METASPACE_APART"})
    void a_piece_that_the_vocabulary_cannot_write_is_no_ids(Variant variant) {
        ModelTokenizer tokenizer = variant.tokenizer();
        var spelling = new Spelling(tokenizer);
        int written = 0;
        for (int round = 0; round < 400; round++) {
            String text = Utf8.withoutLoneSurrogates(new HardTexts(round).next(3));
            int[] ids = spelling.ofAnswer(text);
            if (ids != null) {
                var stream = new IncrementalDetokenizer(tokenizer, List.of(), /* continues */ true);
                var told = new StringBuilder();
                for (int id : ids) {
                    told.append(stream.accept(id));
                }
                assertThat(told + stream.finish()).isEqualTo(text);
                written++;
            }
        }
        assertThat(written).isGreaterThan(50);
        assertThat(spelling.ofAnswer("𝔘𓀀")).isNull();
    }

    @ParameterizedTest
    @EnumSource(mode = Mode.EXCLUDE, names = {"DIGITS_LACKING", "LLAMA3_UNKNOWN", "LLAMA2_UNKNOWN", "LLAMA2_FUSED",
        "METASPACE_APART", "METASPACE_APART_FUSED"})
    void a_prompt_is_spelled_so_that_it_is_read_as_the_same_ids(Variant variant) {
        ModelTokenizer tokenizer = variant.tokenizer();
        var spelling = new Spelling(tokenizer);
        String turn = "<|user|>\n%s<|end|>\n<|assistant|> ";
        for (int round = 0; round < 300; round++) {
            String words = TestTokenizers.randomText(new Random(round), 12).replace("<|", "< |");
            String text = round % 2 == 0 ? words : turn.formatted(words).repeat(1 + round % 3);
            int[] ids = tokenizer.encode(text, /* addSpecialTokens */ false);
            String spelled = spelling.ofPrompt(ids, /* begun */ false);
            assertThat(spelled).as("%s: %s", variant, text).isNotNull();
            assertThat(tokenizer.encode(spelled, false)).as("%s: %s", variant, text).isEqualTo(ids);
        }
    }
}
