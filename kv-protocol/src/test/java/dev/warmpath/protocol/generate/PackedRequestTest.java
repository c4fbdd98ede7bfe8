package dev.warmpath.protocol.generate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.protocol.fleet.RouterId;
import java.lang.reflect.RecordComponent;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

class PackedRequestTest {

    private final JsonMapper json = JsonMapper.builder().build();

    @Test
    void a_request_survives_the_wire() {
        var request = new GenerateRequest("r-1", 42L, new int[] {1, 10, 2_147_483_647},
                new SamplingParameters(0.5f, 40, 0.9f, 7L), new StopConditions(10, new int[] {9}, true, 4), true, "s:abc",
                null, null, 0, 1500L, "4f3a", new RouterId("r1"), 20, true, 3);

        byte[] body = PackedRequest.pack(json.writeValueAsBytes(PackedRequest.Head.of(request)), request.promptTokens());

        int headLength = PackedRequest.headLength(body);
        var head = json.readValue(body, 0, headLength, PackedRequest.Head.class);
        assertThat(head.with(PackedRequest.promptTokens(body, headLength))).usingRecursiveComparison()
                .isEqualTo(request);
    }

    /** A field that is told in JSON only would be lost on the way to every worker of today. */
    @Test
    void a_head_has_all_fields_of_a_request_but_the_prompt() {
        assertThat(names(PackedRequest.Head.class)).isEqualTo(names(GenerateRequest.class).stream()
                .filter(name -> !name.equals("promptTokens")).toList());
    }

    private static List<String> names(Class<? extends Record> type) {
        return Arrays.stream(type.getRecordComponents()).map(RecordComponent::getName).toList();
    }

    /** 10 is a line break: the first one counts, ids may hold any byte. */
    @Test
    void ids_are_four_bytes_each_behind_one_line() {
        byte[] body = PackedRequest.pack(ascii("{}"), new int[] {10, 258});

        assertThat(body).containsExactly('{', '}', '\n', 10, 0, 0, 0, 2, 1, 0, 0);
        assertThat(PackedRequest.headLength(body)).isEqualTo(2);
        assertThat(PackedRequest.promptTokens(body, 2)).containsExactly(10, 258);
    }

    @Test
    void what_is_no_whole_request_is_refused() {
        byte[] body = PackedRequest.pack(ascii("{}"), new int[] {10, 258});

        assertThatIllegalArgumentException().isThrownBy(() -> PackedRequest.headLength(ascii("{}")))
                .withMessage("the body has no line break behind its JSON");
        assertThatIllegalArgumentException().isThrownBy(() -> PackedRequest.headLength(Arrays.copyOf(body, 9)))
                .withMessage("6 bytes of prompt ids, each has 4");
        assertThatThrownBy(() -> json.readValue("""
                {"requestId":"r","workerEpoch":0,"logprobs":false,"priority":0,"timeoutMillis":0}""",
                PackedRequest.Head.class))
                .isInstanceOf(JacksonException.class).hasMessageContaining("requestId, sampling and stop");
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
