package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.acceptance.ConversationLoad.Turn;
import dev.warmpath.acceptance.Gateway.Answer;
import dev.warmpath.protocol.redis.RedisLayout;
import java.time.Duration;
import java.util.List;
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
    private static final RedisProcess REDIS = new RedisProcess(RedisProcess.bundled(), LocalFleet.freePort());

    private static LocalFleet fleet;

    @BeforeAll
    static void start() {
        String redis = "--warmpath.redis.uri=" + REDIS.uri();
        fleet = LocalFleet.start(2, WORKERS, LocalFleet.patient(redis), List.of(redis));
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
        IndexTruth.awaitEqual(fleet.gateways(), WORKERS);
    }

    @Test
    @Order(2)
    void when_redis_appears_the_routers_find_it() {
        REDIS.start();

        Await.until("no router says degraded", SharedIndexTest::isDegradedNowhere);
        Await.until("every worker is in the log",
                () -> REDIS.ask("HLEN warmpath:workers").equals(":" + WORKERS));
        IndexTruth.awaitEqual(fleet.gateways(), WORKERS);
    }

    @Test
    @Order(3)
    void two_routers_reuse_what_one_would_and_go_on_when_redis_is_killed() {
        var crowd = new ConversationLoad(fleet.gateways(), /* clients */ 12, Duration.ofMillis(300), /* seed */ 1);
        awaitFollowedByRedis();
        requireFullReuseWithoutLoad(/* seed */ 2);

        List<Turn> turns = crowd.run(300, REDIS::kill);

        System.out.printf("hit rate: %.1f %%, with Redis killed %.1f %%%n",
                ConversationLoad.hitPercent(turns.subList(0, 150)),
                ConversationLoad.hitPercent(turns.subList(150, 300)));
        assertThat(turns).hasSize(300).allSatisfy(turn -> assertThat(turn.status()).isEqualTo(200));
        requireFullReuseWithoutLoad(/* seed */ 3);
    }

    /**
     * Conversations from router to router, each turn once both have heard of the last, however long that takes: of its
     * blocks, and that its worker has nothing to do any more. A router that still counts another's requests there may
     * well compute a short prompt elsewhere.
     */
    private static void requireFullReuseWithoutLoad(int seed) {
        List<Gateway> routers = fleet.gateways();
        var alone = new ConversationLoad(routers, /* clients */ 1, Duration.ZERO, seed, () -> {
            Await.until("routers hear of idle workers",
                    () -> routers.stream().allMatch(Gateway::hearsOfIdleWorkersOnly));
            IndexTruth.awaitEqual(routers, WORKERS);
        });
        assertThat(alone.run(20)).allSatisfy(turn -> assertThat(turn.cachedTokens())
                .as(() -> turn + " " + routers.stream().map(router -> router.lastDecisions(12)).toList())
                .isEqualTo(turn.reusableTokens()));
    }

    /** With some traffic: only then workers show that their batches come through Redis. */
    private static void awaitFollowedByRedis() {
        Await.until("every worker is followed by Redis", () -> {
            new ConversationLoad(fleet.gateways(), /* clients */ 6, Duration.ofMillis(10), /* seed */ 4).run(24);
            return fleet.gateways().stream().allMatch(Gateway::followsByRedis);
        });
    }

    @Test
    @Order(4)
    void when_redis_comes_back_empty_both_indexes_equal_the_workers_sets_without_any_traffic() {
        REDIS.start();

        Await.until("no router says degraded", SharedIndexTest::isDegradedNowhere);
        IndexTruth.awaitEqual(fleet.gateways(), WORKERS);
        String checkpoints = IntStream.rangeClosed(1, WORKERS)
                .mapToObj(worker -> RedisLayout.checkpoint("worker-" + worker)).collect(Collectors.joining(" "));
        Await.until("every worker has written a checkpoint again",
                () -> REDIS.ask("EXISTS " + checkpoints).equals(":" + WORKERS));
    }

    @Test
    @Order(5)
    void the_first_decision_of_a_router_that_was_killed_is_informed() throws InterruptedException {
        int[] prompt = new int[400];
        prompt[399] = 1;
        Answer first = fleet.gateway().complete(prompt, 2);
        Gateway restarted = fleet.gateways().getLast();
        do {
            fleet.killRouter(2);
            fleet.restartRouter(2);
            Await.until("the router is back, and reads Redis",
                    () -> restarted.readyWorkers().size() == WORKERS && restarted.followsByRedis());

            Answer again = restarted.complete(prompt, 2);

            assertThat(again.status()).isEqualTo(200);
            assertThat(again.worker()).isEqualTo(first.worker());
            assertThat(again.cachedTokens()).isEqualTo(384);
            assertThat(again.predictedCachedTokens()).isEqualTo(384);
            // a worker whose checkpoint is not there in a moment is asked itself; if that goes for all, once more
        } while (restarted.meter("warmpath_index_reloads_copies_total{source=\"checkpoint\"}") == 0);
    }

    private static boolean isDegradedNowhere() {
        return fleet.gateways().stream().noneMatch(router -> router.redisHealth().has("degraded"));
    }
}
