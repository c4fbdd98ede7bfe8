package dev.warmpath.cli.terminal;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

class TableTest {

    private final Table table = new Table().left("worker", 3).right("waiting", 2).left("model", 1);

    @Test
    void columns_are_as_wide_as_what_is_in_them() {
        table.row("worker-1", "7", "tiny");

        assertThat(table.lines(80)).containsExactly(
                "worker    waiting  model",
                "worker-1        7  tiny");
    }

    @Test
    void a_narrow_terminal_gets_the_most_important_columns_and_always_the_first_of_them() {
        table.row("worker-1", "7", "tiny");

        assertThat(table.lines(23)).containsExactly("worker    waiting", "worker-1        7");
        assertThat(table.lines(16)).containsExactly("worker", "worker-1");
        assertThat(table.lines(3)).containsExactly("worker", "worker-1");
    }

    @Test
    void a_bar_is_drawn_in_blocks_or_where_these_cannot_be_shown_in_plain_characters() {
        var out = new PrintStream(new ByteArrayOutputStream(), true, StandardCharsets.UTF_8);

        assertThat(new Screen(out, false, true).bar(0.25, 8)).isEqualTo("██░░░░░░");
        assertThat(new Screen(out, false, false).bar(0.25, 8)).isEqualTo("##......");
        assertThat(new Screen(out, false, false).bar(7, 4)).isEqualTo("####");
    }

    @Test
    void a_page_that_is_too_high_says_in_its_last_row_how_much_is_missing() {
        var bytes = new ByteArrayOutputStream();
        var out = new PrintStream(bytes, true, StandardCharsets.UTF_8);
        var screen = new Screen(out, true, true, () -> new Screen.Size(3, 40));
        screen.begin();
        bytes.reset();
        screen.draw(List.of("head", "worker-1", "worker-2", "worker-3"));

        assertThat(bytes.toString(StandardCharsets.UTF_8)).isEqualTo("\033[Hhead\033[K\nworker-1\033[K\n"
                + "… and 2 lines more: the window is too lo\033[K\033[J");
        bytes.reset();
        screen.draw(List.of("head", "worker-1", "worker-2"));
        assertThat(bytes.toString(StandardCharsets.UTF_8)).contains("worker-2").doesNotContain("more");
    }

    @Test
    void signs_that_the_terminal_lacks_have_plain_ones_in_their_place() {
        var bytes = new ByteArrayOutputStream();
        var screen = new Screen(new PrintStream(bytes, true, StandardCharsets.US_ASCII), false, /* blocks */ false);
        screen.print(List.of("– ttft ≤ 5 ms …"));

        assertThat(bytes.toString(StandardCharsets.US_ASCII)).isEqualTo("- ttft <= 5 ms ...\n");
    }

    @Test
    void a_letter_is_waited_for_and_others_are_passed_over() throws InterruptedException {
        Keys keys = Keys.of(new ByteArrayInputStream("xyQ".getBytes(StandardCharsets.US_ASCII)));

        assertThat(keys.typed('q', 0)).isTrue();
        assertThat(keys.typed('q', 0)).isFalse();
    }

    @Test
    void nothing_is_drawn_on_the_page_that_was_given_back() {
        var bytes = new ByteArrayOutputStream();
        var screen = new Screen(new PrintStream(bytes, true, StandardCharsets.UTF_8), true, true);
        screen.begin();
        screen.restore();
        screen.draw(List.of("too late"));
        screen.restore();

        assertThat(bytes.toString(StandardCharsets.UTF_8)).isEqualTo("\033[?1049h\033[?25l\033[?25h\033[?1049l");
    }
}
