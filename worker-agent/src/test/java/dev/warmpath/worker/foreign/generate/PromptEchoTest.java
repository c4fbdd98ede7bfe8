package dev.warmpath.worker.foreign.generate;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class PromptEchoTest {

    private static final String IDS =
            IntStream.range(0, 3_000).mapToObj(Integer::toString).collect(Collectors.joining(","));

    @Test
    void a_prompts_ids_are_cut_and_all_else_is_left() {
        assertThat(cut("{\"a\":[1,2],\"prompt_token_ids\":[" + IDS + "],\"token_ids\":[504]}"))
                .isEqualTo("{\"a\":[1,2],\"prompt_token_ids\":[],\"token_ids\":[504]}");
    }

    @Test
    void what_is_short_or_has_no_such_list_stays_as_it_is() {
        String inText = "{\"text\":\"\\\"prompt_token_ids\\\":[1]\",\"token_ids\":[" + IDS + "]}";
        assertThat(cut(inText)).isEqualTo(inText);
        assertThat(cut("{\"prompt_token_ids\":[1,2]}")).isEqualTo("{\"prompt_token_ids\":[1,2]}");
        String none = "{\"prompt_token_ids\":null,\"token_ids\":[" + IDS + "]}";
        assertThat(cut(none)).isEqualTo(none);
    }

    @Test
    void a_list_that_does_not_end_is_no_json_afterwards() {
        assertThat(cut("{\"prompt_token_ids\":[" + IDS)).isEqualTo("{\"prompt_token_ids\":[");
    }

    private static String cut(String text) {
        byte[] bytes = ("xx" + text).getBytes(StandardCharsets.UTF_8);
        int left = PromptEcho.cut(bytes, 2, bytes.length - 2);
        return new String(bytes, 2, left, StandardCharsets.UTF_8);
    }
}
