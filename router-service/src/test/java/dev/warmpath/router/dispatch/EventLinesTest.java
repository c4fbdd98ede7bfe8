package dev.warmpath.router.dispatch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.protocol.generate.GenerateEvent;
import dev.warmpath.router.dispatch.EventLines.BadLineException;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.json.JsonMapper;

class EventLinesTest {

    private final JsonMapper json =
            JsonMapper.builder().disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES).build();

    /** Our own words, and others that JSON takes for the same. */
    @ParameterizedTest
    @ValueSource(strings = {
        "{\"type\":\"tokens\",\"index\":0,\"ids\":[5]}",
        "{\"type\":\"tokens\",\"index\":0,\"ids\":[0,49151,999999999,2147483647]}",
        "{\"type\":\"tokens\",\"index\":3,\"ids\":[1,2,3]}",
        "{\"type\":\"tokens\",\"index\":0,\"ids\":[7],\"logprobs\":[-0.5]}",
        "{\"type\":\"tokens\",\"index\":0,\"ids\":[]}",
        "{\"type\":\"tokens\",\"index\":0,\"ids\":[-7]}",
        "{\"type\":\"tokens\",\"index\":0,\"ids\": [7]}",
        "{\"type\":\"tokens\",\"ids\":[7],\"index\":0}",
        "{\"type\":\"tokens\",\"index\":0,\"ids\":[7],\"more\":1}",
        "{\"type\":\"tokens\",\"index\":0,\"ids\":null}",
        "{\"type\":\"finished\",\"reason\":\"length\",\"usage\":{\"promptTokens\":20,\"cachedTokens\":16,\"completionTokens\":3}}",
        "{\"type\":\"failed\",\"reason\":\"queue_full\",\"message\":\"full\"}"})
    void every_line_is_read_as_json_reads_it(String line) {
        assertThat(read(line + "\n")).usingRecursiveFieldByFieldElementComparator()
                .containsExactly(json.readValue(line, GenerateEvent.class));
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "{\"type\":\"tokens\",\"index\":0,\"ids\":[5}",
        "{\"type\":\"tokens\",\"index\":0,\"ids\":[5,]}",
        "{\"type\":\"tokens\",\"index\":0,\"ids\":[05]}",
        "{\"type\":\"tokens\",\"index\":0,\"ids\":[4294967296]}",
        "{\"type\":\"tokens\",\"index\":0,\"ids\":[99999999999999999999]}",
        "{\"type\":\"tokens\",\"index\":0,\"ids\":[5]",
        "{\"type\":\"tokens\",\"index\":0,\"ids\":[",
        "{\"type\":\"tokens\",\"index\":,\"ids\":[5]}",
        "null", "7", "{}"})
    void what_json_refuses_is_refused(String line) {
        assertThatThrownBy(() -> read(line + "\n")).isInstanceOf(BadLineException.class);
    }

    @Test
    void lines_may_be_cut_anywhere() {
        String text = "{\"type\":\"tokens\",\"index\":0,\"ids\":[5,6]}\n\n{\"type\":\"tokens\",\"index\":0,\"ids\":[7]}\n"
                + "{\"type\":\"failed\",\"reason\":\"queue_full\",\"message\":\"full\"}\n";
        List<GenerateEvent> whole = read(text);
        assertThat(whole).hasSize(3);
        for (int cut = 0; cut <= text.length(); cut++) {
            assertThat(read(text.substring(0, cut), text.substring(cut))).as("cut at %d", cut)
                    .usingRecursiveFieldByFieldElementComparator().isEqualTo(whole);
        }
    }

    @Test
    void hundreds_of_tokens_come_in_one_line_and_no_line_is_endless() {
        int[] ids = new SplittableRandom(1).ints(1_000, 0, 200_000).toArray();
        String line = json.writerFor(GenerateEvent.class).writeValueAsString(new GenerateEvent.Tokens(0, ids, null));

        assertThat(read(line + "\n")).singleElement().isInstanceOfSatisfying(GenerateEvent.Tokens.class,
                tokens -> assertThat(tokens.ids()).containsExactly(ids));
        assertThatThrownBy(() -> read(" ".repeat(EventLines.MAX_LINE_BYTES + 1)))
                .isInstanceOf(BadLineException.class).hasMessage("a line is longer than 262144 bytes");
    }

    private List<GenerateEvent> read(String... pieces) {
        var lines = new EventLines(json);
        List<GenerateEvent> events = new ArrayList<>();
        for (String piece : pieces) {
            lines.accept(Unpooled.wrappedBuffer(piece.getBytes(StandardCharsets.UTF_8)), events::add);
        }
        return events;
    }
}
