package dev.warmpath.router.management;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.router.FakeWorker;
import dev.warmpath.router.RouterApplication;
import dev.warmpath.router.RunningRouter;
import java.net.http.HttpResponse;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.springframework.test.context.ContextConfiguration;
import tools.jackson.databind.JsonNode;

/** Workers that hold the first 3 and 2 blocks of one prompt of 12 tokens. */
@ContextConfiguration(classes = RouterApplication.class)
class PrefixIndexEndpointTest extends RunningRouter {

    private static final int[] PROMPT = {10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21};
    private static final int[] TWO_BLOCKS = {10, 11, 12, 13, 14, 15, 16, 17};

    @Test
    void the_index_is_told_worker_by_worker() {
        announce(join("w0"), PROMPT, 3);
        FakeWorker late = join("w1");
        announce(late, PROMPT, 2);
        registered(late).heard(new Heartbeat("w1", 7, 0, 0, 100, 0, 7, 0, 0),
                System.nanoTime() - Duration.ofSeconds(3).toNanos());

        JsonNode state = json(management("/actuator/prefixindex"));

        assertThat(state.path("statistics").path("entries").asInt()).isEqualTo(5);
        assertThat(state.path("statistics").path("workers").asInt()).isEqualTo(2);
        JsonNode first = state.path("workers").path(0);
        assertThat(first.path("id").asString()).isEqualTo("w0");
        assertThat(first.path("epoch").asLong()).isEqualTo(7);
        assertThat(first.path("source").asString()).isEqualTo("direct");
        assertThat(first.path("grade").asString()).isEqualTo("exact");
        assertThat(first.path("entries").asInt()).isEqualTo(3);
        assertThat(first.path("blockCount").asInt()).isEqualTo(100);
        assertThat(first.path("setDigest").asString()).matches("[0-9a-f]{16}");
        assertThat(first.path("sequence").asLong()).isZero();
        JsonNode second = state.path("workers").path(1);
        assertThat(second.path("grade").asString()).isEqualTo("history");
        assertThat(second.path("behindBatches").asLong()).isEqualTo(7);
        assertThat(second.path("behindMillis").asLong()).isGreaterThanOrEqualTo(3_000L);
        assertThat(management("/actuator/prometheus").body()).contains("warmpath_index_workers{grade=\"exact\"} 1.0",
                "warmpath_index_workers{grade=\"assumed\"} 0.0",
                "warmpath_index_workers{grade=\"history\"} 1.0", "warmpath_index_workers{grade=\"load\"} 0.0");
    }

    @Test
    void who_holds_a_prompt_is_told_by_its_hash_or_the_end_of_it() {
        announce(join("w0"), PROMPT, 3);
        announce(join("w1"), PROMPT, 2);
        String whole = lastBlockHash(PROMPT);
        String key = lastBlockHash(TWO_BLOCKS).substring(48);

        assertThat(management("/actuator/prefixindex/" + whole).body())
                .isEqualTo("{\"key\":\"%s\",\"workers\":[\"w0\"]}".formatted(whole.substring(48)));
        assertThat(management("/actuator/prefixindex/" + key).body())
                .isEqualTo("{\"key\":\"%s\",\"workers\":[\"w0\",\"w1\"]}".formatted(key));
        assertThat(management("/actuator/prefixindex/0000000000000000").body())
                .isEqualTo("{\"key\":\"0000000000000000\",\"workers\":[]}");
    }

    @Test
    void what_is_no_hash_is_refused_with_a_sentence() {
        for (String hash : new String[] {"abc", "g".repeat(16), "0".repeat(17), "0".repeat(63)}) {
            HttpResponse<String> response = management("/actuator/prefixindex/" + hash);
            assertThat(response.statusCode()).isEqualTo(400);
            assertThat(json(response).path("detail").asString()).startsWith("a block is named by its hash, 64 hex");
        }
    }
}
