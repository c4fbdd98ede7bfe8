package dev.warmpath.router.decisions;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.router.FakeWorker;
import dev.warmpath.router.RunningRouter;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

class DecisionsEndpointTest extends RunningRouter {

    private static final int[] PROMPT = {10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21};

    @Test
    void both_tries_of_a_request_are_shown_with_what_came_of_each() {
        FakeWorker broken = join("broken").doing(FakeWorker.refusing(500, FailureReason.ENGINE_FAILURE, "no"));
        announce(broken, PROMPT, 3);
        join("well").doing(FakeWorker.finishing(FinishReason.LENGTH, 4, ids("fine")));

        assertThat(ask("both-tries").statusCode()).isEqualTo(200);
        JsonNode decisions = decisions("/both-tries");

        assertThat(decisions.size()).isEqualTo(2);
        JsonNode last = decisions.path(0);
        assertThat(last.path("attempt").asInt()).isEqualTo(2);
        assertThat(last.path("model").asString()).isEqualTo("tiny");
        assertThat(last.path("revision").asString()).isEqualTo(REVISION);
        assertThat(last.path("worker").asString()).isEqualTo("well");
        assertThat(last.path("reason").asString()).isEqualTo("only_one");
        assertThat(last.path("left_out_count").asInt()).isEqualTo(1);
        assertThat(last.path("left_out").toString()).isEqualTo("[{\"worker\":\"broken\",\"reason\":\"excluded\"}]");
        assertThat(last.path("predicted_cached_tokens").asInt()).isZero();
        assertThat(last.path("outcome").path("end").asString()).isEqualTo("answered");
        assertThat(last.path("outcome").path("cached_tokens").asInt()).isEqualTo(4);
        assertThat(last.path("outcome").path("first_token_ms").asDouble()).isPositive()
                .isLessThanOrEqualTo(last.path("outcome").path("total_ms").asDouble());
        JsonNode first = decisions.path(1);
        assertThat(first.path("worker").asString()).isEqualTo("broken");
        assertThat(first.path("reason").asString()).isEqualTo("prefix");
        assertThat(first.path("predicted_cached_tokens").asInt()).isEqualTo(8);
        assertThat(first.path("candidate_count").asInt()).isEqualTo(2);
        assertThat(first.path("candidates").path(0).path("terms").path("uncached").asInt()).isEqualTo(4);
        assertThat(first.path("outcome").path("end").asString()).isEqualTo("engine_failure");
        assertThat(first.path("outcome").path("first_token_ms").isNull()).isTrue();
    }

    @Test
    void an_answer_that_goes_on_has_no_outcome_yet_and_one_whose_client_leaves_says_so() throws Exception {
        join("goes-on").doing(FakeWorker.hangingAfter(ids("fine")));   // others were asked in this router before
        try (var _ = rawClient("{\"model\":\"tiny\",\"prompt\":[10,11,12],\"stream\":true}")) {
            eventually(() -> decisions("?worker=goes-on&limit=1").size() == 1);
            assertThat(decisions("?worker=goes-on&limit=1").path(0).path("outcome").isNull()).isTrue();
        }

        eventually(() -> decisions("?worker=goes-on&limit=1").path(0).path("outcome").path("end").asString("").equals("left"));
    }

    @Test
    void the_last_ones_of_a_worker_are_shown_and_no_more_than_asked_for() {
        join("shown").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, ids("fine")));
        IntStream.range(0, 5).forEach(i -> ask("shown-" + i));

        JsonNode two = decisions("?worker=shown&limit=2");
        assertThat(two.size()).isEqualTo(2);
        assertThat(two.path(0).path("request").asString()).isEqualTo("shown-4");
        assertThat(two.path(1).path("request").asString()).isEqualTo("shown-3");
        assertThat(decisions("?worker=nobody").size()).isZero();
        assertThat(decisions("/never-seen").size()).isZero();
        assertThat(management("/actuator/decisions?limit=0").statusCode()).isEqualTo(400);
        assertThat(management("/actuator/decisions?limit=many").statusCode()).isEqualTo(400);
    }

    private JsonNode decisions(String query) {
        return json(management("/actuator/decisions" + query)).path("decisions");
    }

    private HttpResponse<String> ask(String requestId) {
        HttpRequest request = HttpRequest.newBuilder(uri("/v1/completions"))
                .header("content-type", "application/json").header("x-request-id", requestId)
                .POST(HttpRequest.BodyPublishers.ofString(
                        "{\"model\":\"tiny\",\"prompt\":[10,11,12,13,14,15,16,17,18,19,20,21]}"))
                .build();
        return send(request);
    }
}
