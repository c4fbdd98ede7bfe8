package dev.warmpath.protocol.process;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ForeignTextTest {

    @Test
    void line_breaks_and_what_cannot_be_seen_become_one_space_for_each_run() {
        assertThat(ForeignText.oneLine("no\r\n\u2028ERROR\u001ball\u200bis lost", 40)).isEqualTo("no ERROR all is lost");
    }

    @Test
    void a_line_is_cut_at_its_bound_and_says_so() {
        assertThat(ForeignText.oneLine("12345", 5)).isEqualTo("12345");
        assertThat(ForeignText.oneLine("123456", 5)).isEqualTo("12345…");
        assertThat(ForeignText.oneLine("1234\n\n\n", 5)).isEqualTo("1234 ");
        assertThat(ForeignText.oneLine("1" + "\n".repeat(1_000_000), 5)).isEqualTo("1 …");
    }
}
