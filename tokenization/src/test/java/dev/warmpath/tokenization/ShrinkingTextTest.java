package dev.warmpath.tokenization;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.text.Normalizer;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** How much of a text one token can stand for: the guard that refuses hopeless prompts without reading them. */
class ShrinkingTextTest {

    /** The longest piece has 4 bytes. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
        null | {"type":"ByteLevel"} | 4
        {"type":"NFC"} | {"type":"ByteLevel"} | 16
        {"type":"Lowercase"} | {"type":"ByteLevel"} | 16
        {"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Prepend","prepend":"x"}]} | {"type":"ByteLevel"} | 16
        {"type":"Replace","pattern":{"String":"aaa"},"content":"b"} | {"type":"ByteLevel"} | 12
        {"type":"Replace","pattern":{"String":"a"},"content":"bbb"} | {"type":"ByteLevel"} | 4
        {"type":"Replace","pattern":{"String":"a"},"content":""} | {"type":"ByteLevel"} | 2147483647
        {"type":"Replace","pattern":{"Regex":"a+"},"content":"b"} | {"type":"ByteLevel"} | 2147483647
        {"type":"Strip","strip_left":true,"strip_right":true} | {"type":"ByteLevel"} | 2147483647
        {"type":"StripAccents"} | {"type":"ByteLevel"} | 2147483647
        null | {"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},{"type":"ByteLevel"}]} | 2147483647
        null | {"type":"Split","pattern":{"String":" "},"behavior":"Removed","invert":false} | 2147483647
        """)
    void one_token_stands_for_so_many_bytes_at_most(String normalizer, String preTokenizer, int bytes) {
        var json = new TokenizerJson(TestTokenizers.bytes("""
                {"normalizer": %s, "pre_tokenizer": %s, "decoder": {"type": "ByteLevel"}, "added_tokens": [],
                 "model": {"type": "BPE", "vocab": {"a": 0, "abcd": 1}, "merges": []}}"""
                .formatted(normalizer, preTokenizer)), _ -> Set.of());

        assertThat(json.maxTokenBytes()).isEqualTo(bytes);
    }

    /**
     * All characters, in the longest spelling that gives the same: a character of the result is made of those that its
     * full decomposition has, each of which may have been written by the longest character that decomposes to it.
     */
    @ParameterizedTest
    @EnumSource(Normalizer.Form.class)
    void no_text_is_more_than_four_times_as_long_before_it_is_normalized(Normalizer.Form form) {
        boolean compatible = form == Normalizer.Form.NFKC || form == Normalizer.Form.NFKD;
        var decomposing = compatible ? Normalizer.Form.NFKD : Normalizer.Form.NFD;
        Map<String, Integer> longestSpelling = new HashMap<>();
        for (int c = 0; c <= Character.MAX_CODE_POINT; c++) {
            if (Character.isDefined(c) && Character.getType(c) != Character.SURROGATE) {
                String written = Character.toString(c);
                longestSpelling.merge(Normalizer.normalize(written, decomposing), utf8(written), Math::max);
            }
        }
        double worst = 0;
        for (int c = 0; c <= Character.MAX_CODE_POINT; c++) {
            if (!Character.isDefined(c) || Character.getType(c) == Character.SURROGATE) {
                continue;
            }
            String result = Character.toString(c);
            if (!Normalizer.isNormalized(result, form)) {
                continue;
            }
            String parts = Normalizer.normalize(result, decomposing);
            int before = parts.codePoints().map(part -> longestSpelling.get(Character.toString(part))).sum();
            before = Math.max(before, longestSpelling.get(parts));
            worst = Math.max(worst, (double) before / utf8(result));
        }
        assertThat(worst).isBetween(2.0, 4.0);
    }

    @Test
    void no_character_is_more_than_four_times_as_long_before_it_is_lower_case() {
        for (int c = 0; c <= Character.MAX_CODE_POINT; c++) {
            if (Character.getType(c) != Character.SURROGATE) {
                String written = Character.toString(c);
                assertThat(utf8(written)).isLessThanOrEqualTo(4 * utf8(written.toLowerCase(Locale.ROOT)));
            }
        }
    }

    private static int utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8).length;
    }
}
