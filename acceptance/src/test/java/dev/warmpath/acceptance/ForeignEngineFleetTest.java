package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.json.JsonMapper;

/** A fleet whose only worker stands beside another fleet, which is a server with OpenAI's API as any other. */
class ForeignEngineFleetTest {

    private static final JsonMapper JSON = JsonMapper.builder().build();

    @Test
    void a_worker_beside_another_server_answers_as_that_does_and_knows_what_it_was_sent() throws InterruptedException {
        try (var server = LocalFleet.start(1, 1, LocalFleet.patient(), List.of());
                var fleet = LocalFleet.start(1, 1, LocalFleet.patient(), List.of("--warmpath.engine.kind=openai",
                        "--warmpath.engine.url=http://" + server.gateway().uri("/").getAuthority(),
                        "--warmpath.engine.poll-interval=100ms"))) {
            int[] prompt = IntStream.range(0, 100).toArray();
            Gateway.Answer expected = complete(server, prompt);

            Gateway.Answer first = complete(fleet, prompt);
            assertThat(first.status()).as(first.body().toPrettyString()).isEqualTo(200);
            assertThat(first.text()).isEqualTo(expected.text());
            assertThat(first.worker()).isEqualTo("worker-1");
            assertThat(first.predictedCachedTokens()).as("nobody here has sent it").isZero();
            assertThat(first.cachedTokens()).as("as the server counts").isEqualTo(96);

            Await.until("the prompt is announced", () -> complete(fleet, prompt).predictedCachedTokens() == 96);
            assertThat(fleet.gateway().explain(Map.of("model", LocalFleet.MODEL, "prompt", prompt)).path("index_grade")
                    .asString()).isEqualTo("assumed");
            List<Map<String, String>> question = List.of(Map.of("role", "user", "content", "What is a KV cache?"));
            String answer = server.gateway().chat(question).text();
            assertThat(fleet.gateway().chat(question).text()).isNotEmpty().isEqualTo(answer);
            List<String> events = fleet.gateway().streamChat(question);
            assertThat(events).endsWith("[DONE]");
            assertThat(contentOf(events)).isEqualTo(answer);

            server.kill(1);
            assertThat(fleet.gateway().status("/v1/completions", Map.of("model", LocalFleet.MODEL, "prompt", prompt,
                    "max_tokens", 8))).as("an error of the server's, told as one").isBetween(500, 599);
        }
    }

    /** How many events there are is up to the machine: what comes while a reader is slow comes together. */
    private static String contentOf(List<String> events) {
        return events.stream().filter(event -> event.startsWith("{")).map(JSON::readTree)
                .map(event -> event.path("choices").path(0).path("delta").path("content").asString(""))
                .collect(Collectors.joining());
    }

    /** By fields of OpenAI's own: of others nothing is known of this server. */
    private static Gateway.Answer complete(LocalFleet fleet, int[] prompt) {
        return fleet.gateway().post("/v1/completions", Map.of("model", LocalFleet.MODEL, "prompt", prompt,
                "max_tokens", 8, "temperature", 0));
    }
}
