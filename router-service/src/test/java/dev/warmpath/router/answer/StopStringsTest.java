package dev.warmpath.router.answer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class StopStringsTest {

    private record Piece(String text, boolean stopped) {}

    @Test
    void text_before_the_stop_comes_out_and_the_stop_does_not() {
        var stops = new StopStrings(List.of("END"), /* included */ false);
        assertThat(accept(stops, "abcEND, more")).isEqualTo(new Piece("abc", true));
    }

    @Test
    void a_possible_beginning_waits_until_it_is_decided() {
        var stops = new StopStrings(List.of("\n\nUser:"), /* included */ false);
        assertThat(accept(stops, "Hi.\n")).isEqualTo(new Piece("Hi.", false));
        assertThat(accept(stops, "\nUs")).isEqualTo(new Piece("", false));
        assertThat(accept(stops, "age")).isEqualTo(new Piece("\n\nUsage", false));
        assertThat(accept(stops, "\n\nUser")).isEqualTo(new Piece("", false));
        assertThat(accept(stops, ": x")).isEqualTo(new Piece("", true));
    }

    @Test
    void what_waited_comes_out_at_the_end_of_the_text() {
        var stops = new StopStrings(List.of("STOP"), /* included */ false);
        assertThat(accept(stops, "aSTO")).isEqualTo(new Piece("a", false));
        assertThat(finish(stops)).isEqualTo(new Piece("STO", false));
    }

    @Test
    void the_stop_that_begins_first_counts_even_if_a_later_one_is_complete_before() {
        var stops = new StopStrings(List.of("c", "bcd"), /* included */ false);
        assertThat(accept(stops, "abc")).isEqualTo(new Piece("a", false));
        assertThat(accept(stops, "d")).isEqualTo(new Piece("", true));

        var undecided = new StopStrings(List.of("c", "bcd"), /* included */ false);
        assertThat(accept(undecided, "abc")).isEqualTo(new Piece("a", false));
        assertThat(finish(undecided)).isEqualTo(new Piece("b", true));
    }

    @Test
    void a_stop_that_overlaps_itself_is_found_at_its_first_place() {
        var stops = new StopStrings(List.of("aab"), /* included */ false);
        assertThat(accept(stops, "aa")).isEqualTo(new Piece("", false));
        assertThat(accept(stops, "a")).isEqualTo(new Piece("a", false));
        assertThat(accept(stops, "b")).isEqualTo(new Piece("", true));
    }

    @Test
    void without_stops_text_passes_through() {
        assertThat(accept(new StopStrings(List.of(), /* included */ false), "anything")).isEqualTo(new Piece("anything", false));
    }

    @Test
    void an_empty_stop_and_text_after_the_stop_are_mistakes() {
        assertThatThrownBy(() -> new StopStrings(List.of("a", ""), /* included */ false)).hasMessage("a stop string is empty");
        var stops = new StopStrings(List.of("x"), /* included */ false);
        stops.accept("x");
        assertThatThrownBy(() -> stops.accept("y")).isInstanceOf(IllegalStateException.class);
        assertThat(finish(stops)).isEqualTo(new Piece("", true));
    }

    @Test
    void random_pieces_end_where_a_search_in_the_whole_text_does() {
        var random = new Random(17);
        for (int round = 0; round < 20_000; round++) {
            String text = letters(random, random.nextInt(25));
            var stops = new ArrayList<String>();
            for (int i = random.nextInt(4); i > 0; i--) {
                stops.add(letters(random, 1 + random.nextInt(4)));
            }
            int cut = stops.stream().mapToInt(text::indexOf).filter(at -> at >= 0).min().orElse(-1);

            Piece result = feed(text, new StopStrings(stops, /* included */ false), random);
            assertThat(result).as("%s until %s", text, stops)
                    .isEqualTo(new Piece(cut < 0 ? text : text.substring(0, cut), cut >= 0));

            int end = stops.stream().filter(stop -> text.startsWith(stop, Math.max(0, cut))).mapToInt(String::length)
                    .min().orElse(0);
            assertThat(feed(text, new StopStrings(stops, /* included */ true), random))
                    .as("%s including %s", text, stops)
                    .isEqualTo(new Piece(cut < 0 ? text : text.substring(0, cut + end), cut >= 0));
        }
    }

    private static Piece feed(String text, StopStrings stops, Random random) {
        var shown = new StringBuilder();
        for (int at = 0; at < text.length(); ) {
            int next = Math.min(text.length(), at + 1 + random.nextInt(4));
            Piece piece = accept(stops, text.substring(at, next));
            shown.append(piece.text());
            if (piece.stopped()) {
                return new Piece(shown.toString(), true);
            }
            at = next;
        }
        Piece rest = finish(stops);
        return new Piece(shown + rest.text(), rest.stopped());
    }

    private static Piece accept(StopStrings stops, String text) {
        String shown = stops.accept(text);
        return new Piece(shown, stops.isStopped());
    }

    private static Piece finish(StopStrings stops) {
        String shown = stops.finish();
        return new Piece(shown, stops.isStopped());
    }

    private static String letters(Random random, int count) {
        return random.ints(count, 'a', 'd').collect(
                StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append).toString();
    }
}
