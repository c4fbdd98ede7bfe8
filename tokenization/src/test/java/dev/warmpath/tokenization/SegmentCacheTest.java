package dev.warmpath.tokenization;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.tokenization.template.ChatMessage;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

class SegmentCacheTest {

    @Test
    void the_next_turn_of_a_conversation_encodes_only_what_is_new() {
        var cache = new SegmentCache(1 << 20);
        var tokenizer = new ModelTokenizer(TestTokenizers.files("byte-level.json"), cache);
        List<ChatMessage> messages = new ArrayList<>();
        for (int turn = 1; turn <= 5; turn++) {
            messages.add(new ChatMessage("user", ("turn " + turn + " the quick brown fox ").repeat(20)));
            var prompt = tokenizer.render(messages, true, Map.of());

            assertThat(tokenizer.encode(prompt)).isEqualTo(TestTokenizers.BYTE_LEVEL.encode(prompt));
            assertThat(cache.misses()).isEqualTo(turn);
        }
        assertThat(cache.hits()).isEqualTo(1 + 2 + 3 + 4);
    }

    @Test
    void two_models_that_share_it_have_their_own_ids() {
        var cache = new SegmentCache(1 << 20);
        var byteLevel = new ModelTokenizer(TestTokenizers.files("byte-level.json"), cache);
        var metaspace = new ModelTokenizer(TestTokenizers.files("metaspace.json"), cache);
        String text = "the quick brown fox ".repeat(20);
        String later = "<|user|>" + text;
        for (int round = 0; round < 2; round++) {
            assertThat(byteLevel.encode(text, false)).isEqualTo(TestTokenizers.BYTE_LEVEL.encode(text, false));
            assertThat(metaspace.encode(text, false)).isEqualTo(TestTokenizers.METASPACE.encode(text, false));
            assertThat(metaspace.encode(later, false)).isEqualTo(TestTokenizers.METASPACE.encode(later, false));
        }
        assertThat(cache.misses()).isEqualTo(3);
    }

    @Test
    void it_stays_within_its_bytes_and_short_texts_stay_out() {
        var cache = new SegmentCache(1 << 20);
        var tokenizer = new ModelTokenizer(TestTokenizers.files("byte-level.json"), cache);
        tokenizer.encode("x".repeat(255), false);
        assertThat(cache.bytes()).isZero();
        var random = new Random(1);
        for (int i = 0; i < 2_000; i++) {
            tokenizer.encode(Integer.toString(random.nextInt(), 36).repeat(100), false);
        }
        assertThat(cache.bytes()).isBetween(1L << 19, 1L << 20);
    }

    @Test
    void without_memory_nothing_is_kept() {
        var cache = new SegmentCache(0);
        var tokenizer = new ModelTokenizer(TestTokenizers.files("byte-level.json"), cache);
        tokenizer.encode("the quick ".repeat(100), false);
        tokenizer.encode("the quick ".repeat(100), false);
        assertThat(cache.hits()).isZero();
    }
}
