package dev.warmpath.tokenization;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** What is encoded and decoded here is what the library encodes and decodes. */
class EncoderEqualityTest {

    @ParameterizedTest
    @EnumSource
    void ids_of_1500_hard_texts_are_the_librarys(Variant variant) {
        compare(variant, 1_500, 0);
    }

    @Tag("full")
    @ParameterizedTest
    @EnumSource
    void ids_of_200000_hard_texts_and_all_prefixes_of_2000_are_the_librarys(Variant variant) {
        compare(variant, 200_000, 2_000);
    }

    /** For tokenizers that are too large for the repository: {@code -Dtokenizers=folder/tokenizer.json,other.json}. */
    @Tag("full")
    @ParameterizedTest
    @MethodSource
    void ids_of_tokenizers_at_hand_are_the_librarys(Path file) throws IOException {
        compare(Files.readAllBytes(file), 200_000, 2_000);
    }

    static List<Path> ids_of_tokenizers_at_hand_are_the_librarys() {
        String files = System.getProperty("tokenizers", "../models/warmpath-tiny/tokenizer.json");
        return Stream.of(files.split(",")).map(Path::of).toList();
    }

    private static void compare(Variant variant, int texts, int withPrefixes) {
        compare(variant.json(), texts, withPrefixes);
    }

    private static void compare(byte[] json, int texts, int withPrefixes) {
        var tokenizer = new ModelTokenizer(new ModelFiles(json, TestTokenizers.bytes("{}"), null, null));
        assertThat(tokenizer.hasOwnEncoder()).isTrue();
        assertThat(tokenizer.textStream(false)).isNotInstanceOf(WindowStream.class);
        var library = new NativeTokenizer(new String(json, StandardCharsets.UTF_8));
        var hard = new HardTexts(/* seed */ texts);
        for (int i = 0; i < texts; i++) {
            String text = hard.next(i % 100 == 0 ? 200 : 16);
            for (int end = i < withPrefixes ? 0 : text.length(); end <= text.length(); end++) {
                check(tokenizer, library, text.substring(0, end));
            }
        }
    }

    private static void check(ModelTokenizer tokenizer, NativeTokenizer library, String text) {
        int[] ids = tokenizer.encode(text, false);
        int[] expected = library.encode(text, false);
        if (!Arrays.equals(ids, expected)) {
            assertThat(ids).as(escaped(text)).isEqualTo(expected);
        }
        String decoded = library.decode(ids, 0, ids.length, true);
        if (!tokenizer.decode(ids).equals(decoded)) {
            assertThat(tokenizer.decode(ids)).as(Arrays.toString(ids)).isEqualTo(decoded);
        }
    }

    private static String escaped(String text) {
        var escaped = new StringBuilder();
        text.chars().forEach(c -> escaped.append(c >= ' ' && c < 0x7F ? (char) c : "\\u%04x".formatted(c)));
        return escaped.toString();
    }

    /** All begin at once with a tokenizer that has met no word yet, and meet each other at its tables. */
    @Test
    void four_threads_get_the_librarys_ids_of_a_tokenizer_that_is_new() throws Exception {
        ModelTokenizer tokenizer = Variant.DIGITS_SINGLE.tokenizer();
        var library = new NativeTokenizer(new String(Variant.DIGITS_SINGLE.json(), StandardCharsets.UTF_8));
        var begin = new CyclicBarrier(4);
        try (var threads = Executors.newFixedThreadPool(4)) {
            List<Future<?>> ends = new ArrayList<>();
            for (int thread = 0; thread < 4; thread++) {
                ends.add(threads.submit(() -> {
                    begin.await();
                    var hard = new HardTexts(/* seed */ 1);
                    for (int i = 0; i < 1_000; i++) {
                        check(tokenizer, library, hard.next(40));
                    }
                    return null;
                }));
            }
            for (Future<?> end : ends) {
                end.get();
            }
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"GPT2", "DIGITS_SINGLE", "LLAMA2", "LLAMA2_RANDOM", "GEMMA", "METASPACE_APART"})
    void a_stream_of_ids_gives_at_every_cut_what_the_library_gives_for_all_before(Variant variant) {
        ModelTokenizer tokenizer = variant.tokenizer();
        assertThat(tokenizer.textStream(false)).isNotInstanceOf(WindowStream.class);
        var library = new NativeTokenizer(new String(variant.json(), StandardCharsets.UTF_8));
        var random = new Random(6);
        for (int round = 0; round < 300; round++) {
            int[] ids = random.nextBoolean() ? tokenizer.encode(new HardTexts(round).next(12), false)
                    : TestTokenizers.randomIds(random, random.nextInt(30), random.nextBoolean() ? 260 : 22_000);
            for (int cut = 0; cut <= ids.length; cut++) {
                var stream = new IncrementalDetokenizer(tokenizer);
                var text = new StringBuilder();
                for (int i = 0; i < cut; i++) {
                    String piece = stream.accept(ids[i]);
                    assertThat(piece).matches("(?s)(?![\\uDC00-\\uDFFF]).*(?<![\\uD800-\\uDBFF])");
                    text.append(piece);
                }
                text.append(stream.finish());
                assertThat(text.toString()).isEqualTo(library.decode(ids, 0, cut, true));
            }
        }
    }
}
