package dev.warmpath.router.live;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.router.RunningRouter;
import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.springframework.test.context.TestPropertySource;
import reactor.core.publisher.Mono;

/** The page of a router whose operators have a token: whoever reaches it may look, and change nothing without. */
@TestPropertySource(properties = "warmpath.management.token=boss")
class OpenPageTest extends RunningRouter {

    private HttpRequest.Builder page(String path, String method) {
        return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + managementPort() + path))
                .header(PageGuard.PAGE_HEADER, "1").method(method, HttpRequest.BodyPublishers.ofString("{}"));
    }

    @Test
    void changes_need_the_management_token_and_looks_do_not() {
        join("a").showing("PUT /hold", response -> response.status(204).send());

        HttpResponse<String> without = send(page("/live/workers/a/hold", "PUT").build());
        assertThat(without.statusCode()).isEqualTo(401);
        assertThat(without.body()).contains("warmpath.management.token");
        assertThat(send(page("/live/playground/chat/completions", "POST").build()).statusCode()).isEqualTo(401);
        assertThat(send(page("/live/workers/a/hold", "PUT").header("authorization", "Bearer boss").build())
                .statusCode()).isEqualTo(204);
        assertThat(management("/live/fleet").statusCode()).isEqualTo(200);
    }

    @Test
    void on_loopback_a_name_that_somebody_lets_point_here_is_not_answered_with_a_token_either() throws IOException {
        for (String path : List.of("/live/fleet", "/live/prefixes", "/")) {
            try (var socket = new Socket("127.0.0.1", managementPort())) {
                socket.getOutputStream().write(("GET " + path + " HTTP/1.1\r\nhost: rebound.example\r\n"
                        + "connection: close\r\n\r\n").getBytes(StandardCharsets.US_ASCII));
                assertThat(new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
                        .startsWith("HTTP/1.1 403");
            }
        }
    }

    @Test
    void without_demo_mode_nobody_is_told_what_stands_in_a_block_or_a_prompt() {
        int[] prompt = ids("the keys and the values and the queries");
        join("a").showing("GET /blocks/3", response -> response.status(200).header("content-type", "application/json")
                .sendString(Mono.just("{\"block\":3,\"tokens\":" + Arrays.toString(prompt) + "}")));
        post("/v1/completions", "{'model':'tiny','max_tokens':1,'prompt':" + Arrays.toString(prompt) + "}");

        var block = json(management("/live/workers/a/blocks/3"));
        assertThat(block.path("tokens").isNull()).isTrue();
        assertThat(block.path("text").isNull()).isTrue();
        assertThat(json(management("/live/prefixes")).path("prefixes").path(0).path("text").isNull()).isTrue();
    }
}
