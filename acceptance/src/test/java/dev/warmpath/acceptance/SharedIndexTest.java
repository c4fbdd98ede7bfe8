package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.acceptance.ConversationLoad.Turn;
import dev.warmpath.acceptance.Gateway.Answer;
import dev.warmpath.protocol.redis.RedisLayout;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;

/**
 * Two routers, three workers and the oldest Redis that is supported, each a process. One story: Redis is not there yet,
 * comes, is killed, comes back empty; at last a router is killed.
 */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class SharedIndexTest {

    private static final int WORKERS = 3;
    private static final Duration CONVERGENCE = Duration.ofSeconds(30);
    private static final RedisProcess REDIS = new RedisProcess(RedisProcess.bundled(), LocalFleet.freePort());

    private static LocalFleet fleet;

    @BeforeAll
    static void start() {
        List<String> settings = List.of("--warmpath.redis.uri=" + REDIS.uri());
        fleet = LocalFleet.start(2, WORKERS, settings, settings);
    }

    @AfterAll
    static void stop() {
        if (fleet != null) {
            fleet.close();
        }
        REDIS.close();
    }

    @Test
    @Order(1)
    void without_the_redis_it_is_told_of_a_fleet_starts_and_serves_and_says_degraded() {
        for (Gateway router : fleet.gateways()) {
            assertThat(router.complete("Hello", 2).status()).isEqualTo(200);
            assertThat(router.redisHealth().has("degraded")).as("%s", router.redisHealth()).isTrue();
        }
        IndexTruth.awaitEqual(CONVERGENCE, fleet.gateways(), WORKERS);
    }

    @Test
    @Order(2)
    void when_redis_appears_the_routers_find_it() {
        REDIS.start();

        Await.until(Duration.ofSeconds(20), "no router says degraded", SharedIndexTest::isDegradedNowhere);
        Await.until(Duration.ofSeconds(20), "every worker is in the log",
                () -> REDIS.ask("HLEN warmpath:workers").equals(":" + WORKERS));
        IndexTruth.awaitEqual(CONVERGENCE, fleet.gateways(), WORKERS);
    }

    @Test
    @Order(3)
    void two_routers_reuse_what_one_would_and_go_on_when_redis_is_killed() {
        var one = new ConversationLoad(List.of(fleet.gateway()), /* clients */ 6, Duration.ofMillis(150), /* seed */ 1);
        var two = new ConversationLoad(fleet.gateways(), /* clients */ 12, Duration.ofMillis(300), /* seed */ 2);
        var byRedis = new AtomicBoolean();

        // at the same time, so that both meet the same fleet
        CompletableFuture<List<Turn>> baseline = CompletableFuture.supplyAsync(() -> one.run(150));
        List<Turn> turns = two.run(300, () -> {
            byRedis.set(fleet.gateways().stream().allMatch(Gateway::followsByRedis));
            REDIS.kill();
        });

        double oneRouter = ConversationLoad.hitPercent(baseline.join());
        double before = ConversationLoad.hitPercent(turns.subList(0, 150));
        double after = ConversationLoad.hitPercent(turns.subList(150, 300));
        System.out.printf("hit rate: one router %.1f %%, two %.1f %%, with Redis killed %.1f %%%n",
                oneRouter, before, after);
        assertThat(byRedis).as("until then all workers were followed by Redis").isTrue();
        assertThat(turns).hasSize(300).allSatisfy(turn -> assertThat(turn.status()).isEqualTo(200));
        assertThat(before).isGreaterThan(oneRouter - 1);
        assertThat(after).isGreaterThan(oneRouter - 3);
    }

    @Test
    @Order(4)
    void when_redis_comes_back_empty_both_indexes_equal_the_workers_sets_without_any_traffic() {
        REDIS.start();

        Await.until(CONVERGENCE, "no router says degraded", SharedIndexTest::isDegradedNowhere);
        IndexTruth.awaitEqual(CONVERGENCE, fleet.gateways(), WORKERS);
        String checkpoints = IntStream.rangeClosed(1, WORKERS)
                .mapToObj(worker -> RedisLayout.checkpoint("worker-" + worker)).collect(Collectors.joining(" "));
        Await.until(CONVERGENCE, "every worker has written a checkpoint again",
                () -> REDIS.ask("EXISTS " + checkpoints).equals(":" + WORKERS));
    }

    @Test
    @Order(5)
    void the_first_decision_of_a_router_that_was_killed_is_informed() throws InterruptedException {
        int[] prompt = new int[400];
        prompt[399] = 1;
        Answer first = fleet.gateway().complete(prompt, 2);
        fleet.killRouter(2);
        fleet.restartRouter(2);
        Gateway restarted = fleet.gateways().getLast();
        Await.until(Duration.ofSeconds(60), "the router is back", () -> restarted.readyWorkers().size() == WORKERS);

        Answer again = restarted.complete(prompt, 2);

        assertThat(again.status()).isEqualTo(200);
        assertThat(again.worker()).isEqualTo(first.worker());
        assertThat(again.cachedTokens()).isEqualTo(384);
        assertThat(again.predictedCachedTokens()).isEqualTo(384);
        assertThat(restarted.meter("warmpath_index_reloads_copies_total{source=\"checkpoint\"}"))
                .as("what it knew, it had from Redis").isEqualTo(WORKERS);
        assertThat(restarted.followsByRedis()).isTrue();
    }

    private static boolean isDegradedNowhere() {
        return fleet.gateways().stream().noneMatch(router -> router.redisHealth().has("degraded"));
    }
}
