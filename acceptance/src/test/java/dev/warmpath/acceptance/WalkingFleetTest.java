package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.acceptance.Gateway.Answer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;

/** The real router and two real workers, each a process. The test that kills a worker comes last. */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class WalkingFleetTest {

    /** Below the first special token of the model's vocabulary. */
    private static final int ORDINARY_TOKENS = 2_000;

    /** One for all tests: no test's prompt begins like another's. */
    private static final SplittableRandom RANDOM = new SplittableRandom(20261121);

    private static LocalFleet fleet;
    private static Gateway gateway;

    @BeforeAll
    static void start() {
        fleet = LocalFleet.start(1, 2, LocalFleet.patient(), List.of());
        gateway = fleet.gateway();
    }

    @AfterAll
    static void stop() {
        if (fleet != null) {
            fleet.close();
        }
    }

    @Test
    @Order(1)
    void a_question_is_answered_in_english_whole_and_streamed_alike() {
        List<Map<String, String>> question = List.of(Map.of("role", "user", "content", "What is a KV cache?"));

        Answer whole = gateway.chat(question);
        List<String> events = gateway.streamChat(question);

        assertThat(whole.status()).isEqualTo(200);
        assertThat(whole.text()).containsIgnoringCase("keys and values");
        assertThat(events.getLast()).isEqualTo("[DONE]");
        assertThat(Streams.text(events)).isEqualTo(whole.text());
    }

    @Test
    @Order(2)
    void follow_ups_go_to_the_first_requests_worker_and_reuse_what_the_router_predicted() {
        for (int prefix = 0; prefix < 20; prefix++) {
            int[] tokens = randomTokens(40 + RANDOM.nextInt(400));
            Answer first = gateway.complete(tokens, 4);
            int reusable = (tokens.length - 1) / LocalFleet.BLOCK_SIZE * LocalFleet.BLOCK_SIZE;
            assertThat(first.cachedTokens()).isZero();
            IndexTruth.awaitEqual(List.of(gateway), 2);            // what the router did itself counts for two seconds

            for (int repeat = 0; repeat < 4; repeat++) {
                Answer again = gateway.complete(tokens, 4);
                assertThat(again.worker()).isEqualTo(first.worker());
                assertThat(again.cachedTokens()).isEqualTo(reusable);
                assertThat(again.predictedCachedTokens()).isEqualTo(reusable);
                assertThat(again.text()).isEqualTo(first.text());
            }
        }
    }

    @Test
    @Order(3)
    void a_hundred_unrelated_prompts_are_shared_between_both_workers() {
        Map<String, Integer> share = new HashMap<>();
        for (int i = 0; i < 100; i++) {
            share.merge(gateway.complete(randomTokens(60), 2).worker(), 1, Integer::sum);
        }

        assertThat(share).hasSize(2);
        assertThat(share.values()).allSatisfy(count -> assertThat(count).isBetween(25, 75));
    }

    @Test
    @Order(4)
    void a_greedy_request_gives_equal_text_among_sixteen_others_and_alone() throws Exception {
        int[] tokens = randomTokens(200);
        double steps = overWorkers("warmpath_engine_steps_total");
        double generated = overWorkers("warmpath_engine_generated_tokens_total");
        String amongOthers;

        try (var threads = Executors.newFixedThreadPool(17)) {
            List<Future<Answer>> crowd = new ArrayList<>();
            for (int i = 0; i < 16; i++) {
                int[] other = randomTokens(50 + 20 * i);
                crowd.add(threads.submit(() -> gateway.complete(other, 48)));
            }
            Future<Answer> among = threads.submit(() -> gateway.complete(tokens, 48));

            amongOthers = among.get().text();
            assertThat(among.get().cachedTokens()).isZero();
            for (Future<Answer> other : crowd) {
                assertThat(other.get().completionTokens()).isEqualTo(48);
            }
        }
        assertThat(overWorkers("warmpath_engine_steps_total") - steps).as("steps are shared: fewer than tokens")
                .isLessThan(overWorkers("warmpath_engine_generated_tokens_total") - generated);

        assertThat(gateway.complete(tokens, 48).text()).isEqualTo(amongOthers);
    }

    @Test
    @Order(5)
    void two_equal_prompts_sent_together_go_to_one_worker() throws Exception {
        int[] tokens = randomTokens(900);
        try (var threads = Executors.newFixedThreadPool(2)) {
            Future<Answer> one = threads.submit(() -> gateway.complete(tokens, 8));
            Future<Answer> two = threads.submit(() -> gateway.complete(tokens, 8));

            assertThat(one.get().worker()).isEqualTo(two.get().worker());
            assertThat(one.get().text()).isEqualTo(two.get().text());
        }
    }

    @Test
    @Order(6)
    void the_explanation_names_the_worker_that_then_answers() {
        int[] tokens = randomTokens(160);
        Answer first = gateway.complete(tokens, 2);
        IndexTruth.awaitEqual(List.of(gateway), 2);
        var body = Map.of("model", LocalFleet.MODEL, "prompt", tokens, "max_tokens", 2);

        var explained = gateway.explain(body);

        assertThat(explained.path("worker").asString("")).isEqualTo(first.worker());
        assertThat(explained.path("predicted_cached_tokens").asInt()).isEqualTo(144);
        assertThat(explained.path("candidates").size()).isEqualTo(2);
    }

    @Test
    @Order(7)
    void when_everything_is_answered_no_block_is_in_use() {
        for (int worker = 1; worker <= 2; worker++) {
            var management = fleet.workerManagement(worker);
            Await.until("no block of worker " + worker + " is in use",
                    () -> Gateway.meter(management, "warmpath_kv_blocks_used") == 0);
        }
    }

    @Test
    @Order(8)
    void a_killed_worker_leaves_at_once_and_its_clients_see_nothing_but_the_answer()
            throws InterruptedException, ExecutionException {
        int[] tokens = randomTokens(300);
        String victim = gateway.complete(tokens, 4).worker();
        int number = victim.equals(LocalFleet.workerId(1)) ? 1 : 2;
        String survivor = LocalFleet.workerId(3 - number);

        try (var threads = Executors.newFixedThreadPool(12)) {
            List<Future<?>> clients = new ArrayList<>();
            var killed = new AtomicBoolean();
            for (int i = 0; i < 12; i++) {
                SplittableRandom own = RANDOM.split();
                clients.add(threads.submit(() -> {
                    while (!killed.get()) {                // however fast the workers are, they have something to do
                        assertThat(gateway.complete(randomTokens(own, 1_900), 1).status()).isEqualTo(200);
                    }
                }));
            }
            Await.until("a long prompt is pending on the victim", () -> pendingTokens(number) > 0);

            fleet.kill(number);
            killed.set(true);
            Await.until("the killed worker is gone, long before its lease of an hour",
                    () -> gateway.readyWorkers().equals(List.of(survivor)));
            for (Future<?> client : clients) {
                client.get();
            }
        }
        assertThat(gateway.complete(tokens, 4).worker()).isEqualTo(survivor);

        fleet.restartWorker(number);
        Await.until("the restarted worker is back", () -> gateway.readyWorkers().size() == 2);
        assertThat(gateway.explain(Map.of("model", LocalFleet.MODEL, "prompt", tokens, "max_tokens", 4))
                .path("worker").asString("")).as("the new life holds nothing").isEqualTo(survivor);
    }

    private static double overWorkers(String meter) {
        return Gateway.meter(fleet.workerManagement(1), meter) + Gateway.meter(fleet.workerManagement(2), meter);
    }

    private static double pendingTokens(int worker) {
        return Gateway.meter(fleet.workerManagement(worker), "warmpath_engine_prompt_pending_tokens");
    }

    private static int[] randomTokens(int count) {
        return randomTokens(RANDOM, count);
    }

    private static int[] randomTokens(SplittableRandom random, int count) {
        return random.ints(count, 0, ORDINARY_TOKENS).toArray();
    }
}
