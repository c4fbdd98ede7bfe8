package dev.warmpath.tokenization.bpe;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class SeamsTest {
    private static List<String> words(WordPattern pattern, String text) {
        byte[] bytes = Utf8.padded(text);
        int limit = bytes.length - Utf8.PADDING;
        var words = new ArrayList<String>();
        int end;
        for (int at = 0; at < limit; at = end) {
            end = pattern.wordEnd(bytes, at, limit);
            words.add(new String(bytes, at, end - at, StandardCharsets.UTF_8));
        }
        return words;
    }

    /** As Gemma 3's, which merges {@code >} and {@code ▁</}. */
    @Test
    void a_text_is_cut_where_no_merge_brings_two_characters_together() {
        var seams = new Seams();
        for (String pair : List.of("  ", " a", "ab", "b<", "</", "> ", " <", "日本")) {
            seams.close(pair.codePointAt(0), pair.codePointAt(1));
        }
        var pattern = new WordPattern.AtSeams(seams, /* spacesApart */ false);
        assertThat(words(pattern, "ab  ab b> </a日本日😀")).containsExactly(
                "ab", "  ab", " ", "b", "> </", "a", "日本", "日", "😀");
        assertThat(words(new WordPattern.AtSeams(seams, /* spacesApart */ true), "ab  a> </"))
                .containsExactly("ab", " ", " a", ">", " </");
    }

    @Test
    void ten_thousand_pairs_of_all_planes_are_told_from_others() {
        var random = new Random(1);
        var seams = new Seams();
        var closed = new HashSet<Long>();
        for (int i = 0; i < 10_000; i++) {
            int left = random.nextInt(i % 2 == 0 ? 128 : Character.MAX_CODE_POINT);
            int right = random.nextInt(i % 3 == 0 ? 128 : Character.MAX_CODE_POINT);
            seams.close(left, right);
            closed.add((long) left << 32 | right);
        }
        for (long pair : closed) {
            assertThat(seams.isBetween((int) (pair >>> 32), (int) pair)).isFalse();
            long other = pair ^ 1L << random.nextInt(7);
            assertThat(seams.isBetween((int) (other >>> 32), (int) other)).isEqualTo(!closed.contains(other));
        }
    }
}
