package dev.warmpath.router.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.router.FakeWorker;
import dev.warmpath.router.RunningRouter;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.springframework.test.context.TestPropertySource;

/** Five workers, all full or all broken: every request could be tried four times. */
@TestPropertySource(properties = "warmpath.dispatch.least-retries=2")
class ScarceRetriesTest extends RunningRouter {

    @Test
    void full_workers_are_sent_a_fifth_more_than_was_offered_and_the_client_is_told_to_wait() {
        List<FakeWorker> workers = Stream.of("w0", "w1", "w2", "w3", "w4").map(id ->
                join(id).doing(FakeWorker.refusing(503, FailureReason.QUEUE_FULL, "full"))).toList();
        long start = System.nanoTime();
        for (int i = 0; i < 60; i++) {
            HttpResponse<String> response = post("/v1/completions", "{'model':'tiny','prompt':'abc'}");
            assertThat(response.statusCode()).isEqualTo(503);
            assertThat(response.headers().firstValue("retry-after")).isPresent();
            assertThat(json(response).path("error").path("code").asString()).isEqualTo("server_is_overloaded");
        }
        long windows = 1 + Duration.ofNanos(System.nanoTime() - start).toSeconds() / 10;

        int tries = workers.stream().mapToInt(each -> each.requests().size()).sum();
        assertThat((long) tries).isBetween(60 + 2L, 60 + 12 + 2 * windows);
        assertThat(management("/actuator/prometheus").body())
                .contains("warmpath_dispatch_retries_refused_requests_total{cause=\"queue_full\"}");
    }

    @Test
    void another_revision_is_no_way_around_the_budget() {
        List<FakeWorker> workers = List.of(join("w0"), join("v0", "b".repeat(64)));
        workers.forEach(each -> each.doing(FakeWorker.refusing(503, FailureReason.QUEUE_FULL, "full")));
        long start = System.nanoTime();
        for (int i = 0; i < 60; i++) {
            assertThat(post("/v1/completions", "{'model':'tiny','prompt':'abc'}").statusCode()).isEqualTo(503);
        }
        long windows = 1 + Duration.ofNanos(System.nanoTime() - start).toSeconds() / 10;

        int tries = workers.stream().mapToInt(each -> each.requests().size()).sum();
        assertThat((long) tries).isBetween(60L, 60 + 15 + 2 * windows);
    }

    @Test
    void a_failure_that_is_not_tried_again_is_told_as_it_was() {
        Stream.of("w0", "w1", "w2", "w3", "w4").forEach(id ->
                join(id).doing(FakeWorker.failingAfter(FailureReason.ENGINE_FAILURE, "device lost")));
        for (int i = 0; i < 20; i++) {
            HttpResponse<String> response = post("/v1/completions", "{'model':'tiny','prompt':'abc'}");
            assertThat(response.statusCode()).isEqualTo(502);
            assertThat(json(response).path("error").path("code").asString()).isEqualTo("engine_failure");
        }
    }
}
