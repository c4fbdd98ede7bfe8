package dev.warmpath.worker.foreign.generate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class AnswerBytesTest {

    private final List<String> pieces = new ArrayList<>();

    @Test
    void events_are_the_same_wherever_the_network_cuts_them() throws Exception {
        String text = "data: {\"a\":1}\n\n: a comment\nevent: ping\r\ndata:{\"b\":\"ü\"}\r\n\r\ndata: [DONE]\n\n";
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        for (int cut = 0; cut <= bytes.length; cut++) {
            pieces.clear();
            AnswerBytes answer = answer(/* byEvents */ true, 1_000);
            answer.add(Unpooled.wrappedBuffer(bytes, 0, cut));
            answer.add(Unpooled.wrappedBuffer(bytes, cut, bytes.length - cut));
            assertThat(pieces).as("cut at %d", cut).containsExactly("{\"a\":1}", "{\"b\":\"ü\"}", "[DONE]");
        }
    }

    @Test
    void a_line_that_was_cut_off_is_no_event() throws Exception {
        AnswerBytes answer = answer(/* byEvents */ true, 1_000);
        add(answer, "data: {\"a\":1}\n\ndata: {\"a\":2}");
        assertThat(pieces).containsExactly("{\"a\":1}");
    }

    @Test
    void a_line_without_end_is_held_up_to_the_bound_and_not_a_byte_longer() throws Exception {
        AnswerBytes answer = answer(/* byEvents */ true, 100_000);
        add(answer, "x".repeat(100_000));
        assertThatThrownBy(() -> add(answer, "x")).isInstanceOf(UnreadableAnswerException.class)
                .hasMessageContaining("more than 100000 bytes");
    }

    @Test
    void many_lines_together_may_be_longer_than_one_may() throws Exception {
        AnswerBytes answer = answer(/* byEvents */ true, 20);
        add(answer, "data: 123456789012\n\n".repeat(50));
        assertThat(pieces).hasSize(50).containsOnly("123456789012");
    }

    @Test
    void a_whole_answer_is_gathered_and_bounded_likewise() throws Exception {
        AnswerBytes answer = answer(/* byEvents */ false, 20);
        add(answer, "{\"a\":\n");
        add(answer, "data: 1}");
        assertThat(pieces).isEmpty();
        assertThat(new String(answer.rest(), StandardCharsets.UTF_8)).isEqualTo("{\"a\":\ndata: 1}");
        assertThatThrownBy(() -> add(answer, "1234567")).isInstanceOf(UnreadableAnswerException.class);
    }

    private AnswerBytes answer(boolean byEvents, int most) {
        return new AnswerBytes(byEvents, most, (bytes, from, length) ->
                pieces.add(new String(bytes, from, length, StandardCharsets.UTF_8)));
    }

    private static void add(AnswerBytes answer, String text) throws UnreadableAnswerException {
        answer.add(Unpooled.copiedBuffer(text, StandardCharsets.UTF_8));
    }
}
