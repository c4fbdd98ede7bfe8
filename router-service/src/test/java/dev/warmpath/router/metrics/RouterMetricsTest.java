package dev.warmpath.router.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.router.metrics.RouterMetrics.Outcome;
import dev.warmpath.router.metrics.RouterMetrics.WorkerState;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class RouterMetricsTest {

    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
    private final RouterMetrics metrics = new RouterMetrics(registry);

    @Test
    void the_1001st_model_is_counted_as_other() {
        for (int i = 0; i < 1_003; i++) {
            metrics.model("model-" + i).finished(10, 2);
            metrics.model("model-" + i).cached(16, 8, 4);
        }
        metrics.model("model-0").finished(10, 2);
        metrics.requestEnded("chat", metrics.model("model-1002"), Outcome.ANSWERED);

        assertThat(registry.get("warmpath.prompt.tokens").tag("model", "other").counter().count()).isEqualTo(30);
        assertThat(registry.get("warmpath.prompt.tokens").tag("model", "model-0").counter().count()).isEqualTo(20);
        assertThat(registry.get("warmpath.prompt.tokens").counters()).hasSize(1_001);
        assertThat(registry.get("warmpath.cached.token.error").tag("model", "other").summary().max()).isEqualTo(4);
        assertThat(registry.get("warmpath.requests").tag("model", "other").counter().count()).isEqualTo(1);
    }

    /** 20 tokens more in the first decision, none in the second. */
    @Test
    void a_shadows_decisions_and_tokens_stand_beside_the_live_ones() {
        metrics.shadowed("lmetric", "dynamo-cost", false, /* liveTokens */ 10, /* shadowTokens */ 30);
        metrics.shadowed("lmetric", "dynamo-cost", true, 5, 5);

        assertThat(count("warmpath.shadow.decisions", "choice", "same")).isEqualTo(1);
        assertThat(count("warmpath.shadow.decisions", "choice", "other")).isEqualTo(1);
        assertThat(count("warmpath.shadow.uncached.tokens", "by", "live")).isEqualTo(15);
        assertThat(count("warmpath.shadow.uncached.tokens", "by", "shadow")).isEqualTo(35);
    }

    @Test
    void of_two_policies_that_share_the_requests_each_is_held_against_the_shadow_by_itself() {
        metrics.shadowed("lmetric", "dynamo-cost", true, 10, 10);
        metrics.shadowed("random", "dynamo-cost", false, 100, 10);

        assertThat(count("warmpath.shadow.decisions", "live", "random")).isEqualTo(1);
        assertThat(registry.get("warmpath.shadow.uncached.tokens").tags("live", "random", "by", "live").counter()
                .count()).isEqualTo(100);
        assertThat(registry.get("warmpath.shadow.uncached.tokens").tags("live", "lmetric", "by", "live").counter()
                .count()).isEqualTo(10);
    }

    /** Of 320 tokens that somebody had, 300 were given up for a shorter queue, and of the other 20 there were 16. */
    @Test
    void what_the_choice_and_what_the_index_cost_are_the_differences_of_three_counters() {
        metrics.model("tiny").cached(/* somewhere */ 320, /* predicted */ 20, /* actual */ 16);

        assertThat(count("warmpath.fleet.cached.tokens", "model", "tiny")).isEqualTo(320);
        assertThat(count("warmpath.predicted.cached.tokens", "model", "tiny")).isEqualTo(20);
        assertThat(count("warmpath.cached.tokens", "model", "tiny")).isEqualTo(16);
    }

    @Test
    void requests_are_told_apart_by_the_policy_that_placed_them() {
        metrics.policy("lmetric").firstToken(2_000_000);
        metrics.policy("lmetric").cached(100, 48);
        metrics.policy("lmetric").cached(100, 0);
        metrics.policy("dynamo-cost").cached(10, 0);

        assertThat(count("warmpath.policy.prompt.tokens", "policy", "lmetric")).isEqualTo(200);
        assertThat(count("warmpath.policy.cached.tokens", "policy", "lmetric")).isEqualTo(48);
        assertThat(registry.get("warmpath.policy.time.to.first.token").tag("policy", "lmetric").timer().count())
                .isEqualTo(1);
    }

    private double count(String meter, String tag, String value) {
        return registry.get(meter).tag(tag, value).counter().count();
    }

    @Test
    void a_worker_is_in_one_state_and_leaves_no_series_behind() {
        see(Map.of("w0", WorkerState.JOINING, "w1", WorkerState.READY));
        see(Map.of("w0", WorkerState.READY, "w1", WorkerState.EJECTED));
        metrics.attemptEnded("w0", "answered");
        metrics.attemptEnded("w1", "worker_lost");
        metrics.attemptEnded("w1", "worker_lost");

        assertThat(statesOf("w0")).containsExactly("ready");
        assertThat(statesOf("w1")).containsExactly("ejected");
        assertThat(attempts("w1", "worker_lost")).isEqualTo(2);

        see(Map.of("w0", WorkerState.READY));
        assertThat(attempts("w1", "worker_lost")).as("it may be as new as that").isEqualTo(2);
        see(Map.of("w0", WorkerState.READY));
        metrics.attemptEnded("w1", "left");                        // the last of one that has just gone
        see(Map.of("w0", WorkerState.READY));
        see(Map.of("w0", WorkerState.READY));

        assertThat(statesOf("w1")).isEmpty();
        assertThat(attempts("w1", "worker_lost")).as("nobody may have scraped that yet").isEqualTo(2);
        assertThat(attempts("w1", "left")).isEqualTo(1);

        for (int second = 0; second < 300; second++) {
            see(Map.of("w0", WorkerState.READY));
        }

        assertThat(series()).isNotEmpty().allMatch(each -> "w0".equals(each.getTag("worker")));
        assertThat(attempts("w0", "answered")).isEqualTo(1);
    }

    @Test
    void a_worker_that_comes_back_within_minutes_goes_on_counting() {
        see(Map.of("w0", WorkerState.READY));
        metrics.attemptEnded("w0", "answered");
        see(Map.of());
        see(Map.of());
        see(Map.of("w0", WorkerState.READY));
        metrics.attemptEnded("w0", "answered");

        assertThat(attempts("w0", "answered")).isEqualTo(2);
        assertThat(statesOf("w0")).containsExactly("ready");
    }

    @Test
    void a_model_that_has_lost_its_last_worker_has_none_for_an_hour_and_is_given_up_then() {
        metrics.fleet(Map.of(), Map.of("large", 2, "small", 1));
        metrics.fleet(Map.of(), Map.of("large", 1));
        assertThat(ready("large")).isEqualTo(1);
        assertThat(ready("small")).isZero();

        for (int second = 1; second < 3_600; second++) {
            metrics.fleet(Map.of(), Map.of("large", 1));
        }
        assertThat(ready("small")).isZero();
        metrics.fleet(Map.of(), Map.of("large", 1));
        assertThat(registry.find("warmpath.ready.workers").tag("model", "small").gauge()).isNull();
    }

    @Test
    void no_label_is_one_that_scrapers_in_kubernetes_set() {
        Set<String> theirs = Set.of("container", "endpoint", "instance", "job", "namespace", "pod", "service");

        assertThat(RouterMeter.values()).allSatisfy(meter ->
                assertThat(meter.tagKeys()).as(meter.meterName()).doesNotContainAnyElementsOf(theirs));
    }

    @Test
    void beyond_1000_workers_attempts_are_counted_together_and_a_place_that_gets_free_is_used() {
        Map<String, WorkerState> states = new HashMap<>();
        for (int i = 0; i < 1_000; i++) {
            states.put("w" + i, WorkerState.READY);
        }
        see(states);
        states.put("late", WorkerState.READY);
        see(states);
        metrics.attemptEnded("late", "answered");

        assertThat(attempts("other", "answered")).isEqualTo(1);
        assertThat(statesOf("late")).isEmpty();

        states.remove("w7");
        see(states);
        see(states);
        see(states);
        metrics.attemptEnded("late", "answered");
        assertThat(attempts("late", "answered")).isEqualTo(1);
        assertThat(statesOf("late")).containsExactly("ready");
    }

    @Test
    void latencies_have_buckets_from_1_ms_to_240_s() {
        metrics.model("m").nextToken(Duration.ofMillis(25).toNanos());

        Timer timer = registry.get("warmpath.inter.token.latency").tag("model", "m").timer();
        var buckets = timer.takeSnapshot().histogramCounts();
        assertThat(buckets).hasSize(30);
        assertThat(buckets[0].bucket(TimeUnit.MILLISECONDS)).isEqualTo(1);
        assertThat(buckets[29].bucket(TimeUnit.SECONDS)).isEqualTo(240);
        assertThat(buckets[7].bucket(TimeUnit.MILLISECONDS)).isEqualTo(20);
        assertThat(buckets[7].count()).isZero();
        assertThat(buckets[8].count()).as("30 ms").isEqualTo(1);
    }

    private void see(Map<String, WorkerState> states) {
        metrics.fleet(states, Map.of());
    }

    private double ready(String model) {
        return registry.get("warmpath.ready.workers").tag("model", model).gauge().value();
    }

    private List<String> statesOf(String worker) {
        return registry.find("warmpath.worker.state").tag("worker", worker).gauges().stream()
                .filter(each -> each.value() == 1).map(each -> each.getId().getTag("state")).toList();
    }

    private double attempts(String worker, String outcome) {
        return registry.get("warmpath.worker.attempts").tags("worker", worker, "outcome", outcome).counter().count();
    }

    private List<Meter.Id> series() {
        return registry.getMeters().stream().map(Meter::getId).filter(id -> id.getTag("worker") != null).toList();
    }
}
