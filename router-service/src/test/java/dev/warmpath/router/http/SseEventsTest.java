package dev.warmpath.router.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.json.JsonMapper;

class SseEventsTest {

    private final JsonMapper json = JsonMapper.builder().build();
    private final SseEvents events = new SseEvents(json, UnpooledByteBufAllocator.DEFAULT);

    /** Whoever names a model, or a client's own id, may write what we write. */
    private record Chunk(String id, List<Map<String, String>> choices) {
        static Chunk of(String text) {
            return new Chunk("<text goes here>", List.of(Map.of("text", text)));
        }
    }

    @Test
    void a_template_writes_what_json_would() {
        SseEvents.Template template = events.template(Chunk::of);
        var random = new SplittableRandom(7);
        for (int i = 0; i < 2_000; i++) {
            String text = random.ints(random.nextInt(12), 0, 5).collect(StringBuilder::new, (all, kind) ->
                    all.appendCodePoint(switch (kind) {
                        case 0 -> random.nextInt(0, 0x20);
                        case 1 -> "\"\\/<".charAt(random.nextInt(4));
                        case 2 -> random.nextInt(0x20, 0x80);
                        case 3 -> random.nextInt(0x80, 0xd800);
                        default -> random.nextInt(0xe000, 0x11_0000);
                    }), StringBuilder::append).toString();
            events.add(template, text);

            assertThat(taken()).isEqualTo("data: " + json.writeValueAsString(Chunk.of(text)) + "\n\n");
        }
    }

    @Test
    void what_is_added_between_two_takes_is_taken_together() {
        events.addText("one");
        events.addJson(Map.of("a", 1));
        events.addHeartbeat();

        assertThat(taken()).isEqualTo("data: one\n\ndata: {\"a\":1}\n\n: still at it\n\n");
        assertThat(events.isEmpty()).isTrue();
    }

    @Test
    void an_event_without_its_text_is_no_template() {
        assertThatIllegalArgumentException().isThrownBy(() -> events.template(_ -> Map.of("a", 1)))
                .withMessage("the event has no text: {\"a\":1}");
    }

    private String taken() {
        ByteBuf bytes = events.take();
        try {
            return bytes.toString(StandardCharsets.UTF_8);
        } finally {
            bytes.release();
        }
    }
}
