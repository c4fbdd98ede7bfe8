package dev.warmpath.router.answer;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.tokenization.ModelFiles;
import dev.warmpath.tokenization.ModelTokenizer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Tokens of the shipped model, on their way through all stages. */
class ChoiceTextTest {

    private static final Path MODEL = Path.of("../models/warmpath-tiny");
    private static final String TEXT = "One day, 🦄 und Ärger. END of it";

    private static ModelTokenizer tokenizer;

    @BeforeAll
    static void load() throws IOException {
        tokenizer = new ModelTokenizer(new ModelFiles(Files.readAllBytes(MODEL.resolve("tokenizer.json")),
                Files.readAllBytes(MODEL.resolve("tokenizer_config.json")), null, null));
    }

    @Test
    void a_stop_string_ends_the_choice_and_what_comes_behind_it_is_no_part_of_it() {
        int[] ids = tokenizer.encode(TEXT, false);
        int[] untilStop = tokenizer.encode("One day, 🦄 und Ärger. END", false);
        assertThat(ids).startsWith(untilStop);
        var choice = choice(List.of("END"));
        var text = new StringBuilder();

        for (int id : ids) {
            text.append(choice.accept(new int[] {id}));
        }

        assertThat(text.append(choice.finish())).hasToString("One day, 🦄 und Ärger. ");
        assertThat(choice.isStopped()).isTrue();
        assertThat(choice.tokenCount()).isEqualTo(untilStop.length);
    }

    @Test
    void tokens_in_batches_give_the_same_text_as_one_by_one() {
        int[] ids = tokenizer.encode(TEXT, false);
        var random = new Random(5);
        for (int round = 0; round < 200; round++) {
            var choice = choice(List.of("never", "ENDE"));
            var text = new StringBuilder();
            for (int from = 0, to; from < ids.length; from = to) {
                to = Math.min(ids.length, from + 1 + random.nextInt(5));
                text.append(choice.accept(Arrays.copyOfRange(ids, from, to)));
            }
            assertThat(text.append(choice.finish())).hasToString(TEXT);
            assertThat(choice.tokenCount()).isEqualTo(ids.length);
        }
    }

    @Test
    void a_token_that_ends_the_choice_counts_and_has_no_text() {
        int[] ids = tokenizer.encode("ab", false);
        int[] last = tokenizer.encode("!", false);
        assertThat(last).hasSize(1);
        var choice = choice(List.of("!"), last[0], 7);

        assertThat(choice.accept(ids) + choice.accept(last) + choice.finish()).isEqualTo("ab");
        assertThat(choice.isStopped()).isFalse();
        assertThat(choice.tokenCount()).isEqualTo(ids.length + 1);
    }

    @Test
    void what_waits_for_a_stop_string_or_for_a_whole_character_comes_at_the_end() {
        int[] ids = tokenizer.encode("x EN", false);
        var undecided = choice(List.of("END"));
        assertThat(undecided.accept(ids)).isEqualTo("x ");
        assertThat(undecided.finish()).isEqualTo("EN");

        int[] unicorn = tokenizer.encode("🦄", false);
        assertThat(unicorn).hasSizeGreaterThan(1);
        var cut = choice(List.of());
        assertThat(cut.accept(Arrays.copyOf(unicorn, 1))).isEmpty();
        assertThat(cut.finish()).isEqualTo("\uFFFD");
    }

    private static ChoiceText choice(List<String> stopStrings, int... silentIds) {
        return new ChoiceText(tokenizer, stopStrings, /* includeStop */ false, IntStream.of(silentIds), List.of(),
                /* continues */ false);
    }
}
