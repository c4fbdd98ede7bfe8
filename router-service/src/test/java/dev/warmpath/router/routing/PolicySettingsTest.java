package dev.warmpath.router.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.router.FakeWorker;
import dev.warmpath.router.RunningRouter;
import org.junit.jupiter.api.Test;
import org.springframework.test.context.TestPropertySource;
import tools.jackson.databind.JsonNode;

/** A router by the fewest requests, but that Dynamo's cost has all conversations for its share; a shadow takes turns. */
@TestPropertySource(properties = {
    "warmpath.routing.policy=least-requests",
    "warmpath.routing.share=1",
    "warmpath.routing.share-policy=dynamo-cost",
    "warmpath.routing.shadow=round-robin",
})
class PolicySettingsTest extends RunningRouter {

    private static final int[] PROMPT = {10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21};
    private static final String BODY = "{'model':'tiny','prompt':[10,11,12,13,14,15,16,17,18,19,20,21]}";

    /** 12 tokens, of which w1 holds two blocks of 4 that need not be computed: 4 there, 12 at w0, whose turn it is. */
    @Test
    void a_request_is_placed_by_the_policy_that_is_set_and_compared_with_the_shadows() {
        join("w0").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, ids("ok")));
        FakeWorker warm = join("w1").doing(FakeWorker.finishing(FinishReason.LENGTH, 8, ids("ok")));
        announce(warm, PROMPT, 3);

        JsonNode explained = json(post("/v1/route", BODY));
        assertThat(explained.path("worker").asString()).isEqualTo("w1");
        assertThat(explained.path("policy").asString()).isEqualTo("dynamo-cost");
        assertThat(explained.path("reason").asString()).isEqualTo("prefix");
        assertThat(explained.path("candidates").path(1).path("terms").path("overlap").asInt()).isEqualTo(-8);
        assertThat(explained.path("shadow").path("policy").asString()).isEqualTo("round-robin");
        assertThat(explained.path("shadow").path("worker").asString()).isEqualTo("w0");
        assertThat(explained.path("shadow").path("extra_tokens").asInt()).isEqualTo(8);

        assertThat(post("/v1/completions", BODY).statusCode()).isEqualTo(200);
        JsonNode decision = json(management("/actuator/decisions")).path("decisions").path(0);
        assertThat(decision.path("policy").asString()).isEqualTo("dynamo-cost");
        assertThat(decision.path("shadow")).isEqualTo(explained.path("shadow"));
        eventually(() -> management("/actuator/prometheus").body()
                .contains("warmpath_policy_cached_tokens_total{policy=\"dynamo-cost\"} 8.0"));
        assertThat(management("/actuator/prometheus").body()).contains(
                "warmpath_policy_prompt_tokens_total{policy=\"dynamo-cost\"} 12.0",
                "warmpath_policy_time_to_first_token_seconds_count{policy=\"dynamo-cost\"} 1",
                "warmpath_shadow_decisions_total{choice=\"other\",live=\"dynamo-cost\",policy=\"round-robin\"} 1.0",
                "{by=\"live\",live=\"dynamo-cost\",policy=\"round-robin\"} 4.0",
                "{by=\"shadow\",live=\"dynamo-cost\",policy=\"round-robin\"} 12.0");
    }
}
