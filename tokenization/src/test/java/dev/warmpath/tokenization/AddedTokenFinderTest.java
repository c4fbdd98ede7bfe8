package dev.warmpath.tokenization;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import dev.warmpath.tokenization.AddedTokenFinder.Match;
import dev.warmpath.tokenization.template.RenderedPrompt;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class AddedTokenFinderTest {

    @Test
    void nested_and_overlapping_tokens_are_found_leftmost_then_longest() {
        var finder = new AddedTokenFinder(List.of(
                token(1, "<a", ""), token(2, "<a|b>", ""), token(3, "a|b", ""), token(4, "|b><", "")));

        assertThat(found(finder, RenderedPrompt.trusted("<<a|b><a|b"))).isEqualTo("2@1..6 1@6..8");
        assertThat(found(finder, RenderedPrompt.trusted("a|b><a"))).isEqualTo("3@0..3 1@4..6");
        assertThat(found(finder, RenderedPrompt.trusted(" |b><a"))).isEqualTo("4@1..5");
        assertThat(found(finder, RenderedPrompt.trusted(""))).isEmpty();
    }

    @Test
    void a_special_token_of_the_client_makes_room_for_the_next_shorter_one_that_counts() {
        var finder = new AddedTokenFinder(List.of(token(1, "<|x|>", "s"), token(2, "<|", ""), token(3, "x", "")));

        assertThat(found(finder, RenderedPrompt.trusted("<|x|>"))).isEqualTo("1@0..5");
        assertThat(found(finder, RenderedPrompt.fromClient("<|x|>"))).isEqualTo("2@0..2 refused {1} 3@2..3");
    }

    /** Thousands of small worlds, against the obvious search: each place, each token, the longest first. */
    @Test
    void whatever_the_tokens_are_the_obvious_search_finds_the_same() {
        for (int seed = 0; seed < 3_000; seed++) {
            var random = new Random(seed);
            var tokens = new ArrayList<AddedToken>();
            for (int id = 0; id < 1 + random.nextInt(12); id++) {
                String flags = "slrw".chars().filter(_ -> random.nextInt(4) == 0)
                        .mapToObj(Character::toString).collect(Collectors.joining());
                tokens.add(token(id, text(random, 1 + random.nextInt(5)), flags));
            }
            String text = text(random, random.nextInt(60));
            var prompt = random.nextBoolean() ? RenderedPrompt.trusted(text) : RenderedPrompt.fromClient(text);

            assertThat(found(new AddedTokenFinder(tokens), prompt)).as("seed " + seed + ": '" + text + "', " + tokens)
                    .isEqualTo(obviouslyFound(tokens, prompt));
        }
    }

    /** What took 13.9 s of a processor: 400,000 characters that begin each of 6,415 tokens. */
    @Test
    void a_text_of_beginnings_is_read_once_however_many_tokens_there_are() {
        var tokens = new ArrayList<AddedToken>();
        for (int id = 0; id < 6_415; id++) {
            tokens.add(token(id, "<".repeat(1 + id % 40) + "|reserved_" + id + "|>", "s"));
        }
        var finder = new AddedTokenFinder(tokens);
        String text = "<".repeat(400_000);

        assertThat(found(finder, RenderedPrompt.trusted(text))).isEmpty();
        assertThat(found(finder, RenderedPrompt.trusted(text + "|reserved_39|>"))).isEqualTo("39@399960..400014");
    }

    /** The library passes a token over as a whole that is no single word where it stands. */
    @Test
    void single_words_and_white_space_are_what_they_are_to_the_library() throws IOException {
        String json = """
                {"version": "1.0", "truncation": null, "padding": null, "normalizer": null, "pre_tokenizer": null,
                 "post_processor": null, "decoder": {"type": "Fuse"}, "added_tokens": [%s],
                 "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, " ": 3, ".": 4}, "merges": []}}"""
                .formatted(String.join(",", addedJson(5, "ab", true, false, false), addedJson(1, "b", false, false, false),
                        addedJson(6, "abc", true, false, false), addedJson(7, "cc", false, true, true),
                        addedJson(8, "a.", true, false, true)));
        byte[] bytes = TestTokenizers.bytes(json);
        var tokenizer = new ModelTokenizer(
                new ModelFiles(bytes, TestTokenizers.bytes("{}"), null, null));
        try (HuggingFaceTokenizer library = TestTokenizers.library(bytes)) {
            var random = new Random(3);
            for (int i = 0; i < 2_000; i++) {
                String text = random.ints(random.nextInt(14), 0, 5).mapToObj(c -> "abc .".substring(c, c + 1))
                        .collect(Collectors.joining());
                assertThat(tokenizer.encode(text, false)).as("'" + text + "'").isEqualTo(Arrays.stream(
                        library.encode(text, false, false).getIds()).mapToInt(id -> (int) id).toArray());
            }
        }
    }

    private static String addedJson(int id, String content, boolean singleWord, boolean lstrip, boolean rstrip) {
        return """
                {"id": %d, "content": "%s", "special": true, "single_word": %s, "lstrip": %s, "rstrip": %s,
                 "normalized": false}""".formatted(id, content, singleWord, lstrip, rstrip);
    }

    private static AddedToken token(int id, String content, String flags) {
        boolean special = flags.contains("s");
        return new AddedToken(id, content, special, /* marker */ special, flags.contains("l"), flags.contains("r"),
                flags.contains("w"), false);
    }

    private static String text(Random random, int length) {
        return random.ints(length, 0, 5).mapToObj(c -> "<<| a".substring(c, c + 1)).collect(Collectors.joining());
    }

    private static String found(AddedTokenFinder finder, RenderedPrompt prompt) {
        AddedTokenFinder.Search search = finder.search(prompt);
        var all = new ArrayList<String>();
        int at = 0;
        while (true) {
            var refused = new BitSet();
            @Nullable Match match = search.next(at, refused);
            if (match == null) {
                return words(all, refused);
            }
            all.add(match.token().id() + "@" + match.start() + ".." + match.end());
            if (!refused.isEmpty()) {
                all.add("refused " + refused);
            }
            at = match.end();
        }
    }

    private static String words(List<String> all, BitSet refused) {
        if (!refused.isEmpty()) {
            all.add("refused " + refused);
        }
        return String.join(" ", all);
    }

    private static String obviouslyFound(List<AddedToken> added, RenderedPrompt prompt) {
        // of two tokens with one text the first counts
        var byContent = new TreeMap<String, AddedToken>(
                Comparator.comparingInt((String content) -> -content.length()).thenComparing(Comparator.naturalOrder()));
        added.forEach(token -> byContent.putIfAbsent(token.content(), token));
        String text = prompt.text();
        var all = new ArrayList<String>();
        var refused = new BitSet();
        int from = 0;
        int at = 0;
        while (at < text.length()) {
            int next = at + 1;
            for (AddedToken token : byContent.values()) {
                int end = at + token.content().length();
                if (!text.startsWith(token.content(), at)) {
                    continue;
                }
                if (token.special() && prompt.isFromClient(at, end)) {
                    refused.set(token.id());
                    continue;
                }
                if (token.singleWord() && (at > 0 && Character.isLetter(text.charAt(at - 1))
                        || end < text.length() && Character.isLetter(text.charAt(end)))) {
                    next = end;
                    break;
                }
                int start = at;
                while (token.lstrip() && start > from && text.charAt(start - 1) == ' ') {
                    start--;
                }
                while (token.rstrip() && end < text.length() && text.charAt(end) == ' ') {
                    end++;
                }
                all.add(token.id() + "@" + start + ".." + end);
                if (!refused.isEmpty()) {
                    all.add("refused " + refused);
                }
                refused.clear();
                from = next = end;
                break;
            }
            at = next;
        }
        return words(all, refused);
    }
}
