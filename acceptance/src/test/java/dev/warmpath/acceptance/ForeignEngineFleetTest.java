package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** A fleet whose only worker stands beside another fleet, which is a server with OpenAI's API as any other. */
class ForeignEngineFleetTest {

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
            List<Map<String, String>> question = List.of(Map.of("role", "user", "content", "What is a KV cache?"));
            assertThat(fleet.gateway().chat(question).text()).isNotEmpty()
                    .isEqualTo(server.gateway().chat(question).text());
            assertThat(fleet.gateway().streamChat(question)).hasSizeGreaterThan(10).endsWith("[DONE]");

            server.kill(1);
            assertThat(fleet.gateway().status("/v1/completions", Map.of("model", LocalFleet.MODEL, "prompt", prompt,
                    "max_tokens", 8))).as("an error of the server's, told as one").isBetween(500, 599);
        }
    }

    /** By fields of OpenAI's own: of others nothing is known of this server. */
    private static Gateway.Answer complete(LocalFleet fleet, int[] prompt) {
        return fleet.gateway().post("/v1/completions", Map.of("model", LocalFleet.MODEL, "prompt", prompt,
                "max_tokens", 8, "temperature", 0));
    }
}
