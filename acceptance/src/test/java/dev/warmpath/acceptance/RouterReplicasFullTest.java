package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.acceptance.SharedPromptLoad.Turn;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.ToDoubleFunction;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * One router and two before three workers that compute, with Redis. Both fleets are up all the time; in each round one
 * after the other is sent the same requests. Hit rates are asserted, times are printed. System properties
 * {@code replicas.rounds}: 2 unless set; {@code replicas.together}: both fleets at once, each with half of the load, so
 * that other work on the machine disturbs both alike. {@code benchmarks/results/router-replicas.md} has tables.
 */
@Tag("full")
class RouterReplicasFullTest {

    private static final int ROUNDS = Integer.getInteger("replicas.rounds", 2);
    private static final boolean IS_TOGETHER = Boolean.getBoolean("replicas.together");
    /** As a share of what one router's fleet answers when it always has more to do. */
    private static final double LOAD = 0.7;
    private static final int CONVERSATIONS = 200;
    private static final int WARM_UP_CLIENTS = 24;
    private static final int WORKERS = 3;
    /** Three pools hold all system prompts and the conversations that go on; one holds neither. */
    private static final int BLOCKS = 400;

    /** @param workerSeconds of the three workers' processors, for each second that it took */
    private record Round(List<Turn> turns, double workerSeconds) {

        double hitRate() {
            return (double) sum(Turn::cachedTokens) / sum(Turn::promptTokens);
        }

        private long sum(ToIntFunction<Turn> tokens) {
            return turns.stream().mapToInt(tokens).sum();
        }

        double meanMillis() {
            return turns.stream().mapToLong(Turn::firstNanos).average().orElseThrow() / 1e6;
        }

        private double quantileMillis(double share) {
            long[] sorted = turns.stream().mapToLong(Turn::firstNanos).sorted().toArray();
            return sorted[(int) (share * sorted.length)] / 1e6;
        }

        /** Computed tokens of the worker with most, over those of the average one. */
        private double maxOverMean() {
            Map<String, Integer> each = turns.stream()
                    .collect(Collectors.groupingBy(Turn::worker, Collectors.summingInt(Turn::computedTokens)));
            return (double) each.values().stream().max(Integer::compare).orElseThrow() * WORKERS
                    / sum(Turn::computedTokens);
        }

        String cells() {
            return String.format(Locale.ROOT, "| %d | %.3f | %.1f ms | %.1f | %.1f | %.2f | %.2f |", turns.size(),
                    hitRate(), meanMillis(), quantileMillis(0.5), quantileMillis(0.95), maxOverMean(), workerSeconds);
        }
    }

    /** A fleet, and a Redis of its own. */
    private static final class SetUp implements AutoCloseable {

        private final RedisProcess redis = new RedisProcess(RedisProcess.bundled(), LocalFleet.freePort()).start();
        private final LocalFleet fleet;
        private final List<Round> rounds = new ArrayList<>();

        SetUp(int routers) {
            String uri = "--warmpath.redis.uri=" + redis.uri();
            fleet = LocalFleet.start(routers, WORKERS, LocalFleet.patient(uri),
                    List.of(uri, "--warmpath.kv.block-count=" + BLOCKS));
        }

        /** @return requests a second that it answers when it always has more to do, once its code is compiled */
        double warmUp() {
            long seed = 0;
            do {
                load(--seed).saturate(WARM_UP_CLIENTS, CONVERSATIONS);
            } while (!fleet.gateways().stream().allMatch(Gateway::followsByRedis));
            return load(--seed).saturate(WARM_UP_CLIENTS, CONVERSATIONS);
        }

        Void play(int number, double requestsPerSecond) {
            long before = workerNanos();
            long startNanos = System.nanoTime();
            List<Turn> turns = load(number).offer(CONVERSATIONS, requestsPerSecond);
            double workerSeconds = (double) (workerNanos() - before) / (System.nanoTime() - startNanos);
            var round = new Round(turns, workerSeconds);
            rounds.add(round);
            System.out.println("| %d | %d %s".formatted(number, fleet.gateways().size(), round.cells()));
            return null;
        }

        private SharedPromptLoad load(long seed) {
            return new SharedPromptLoad(fleet.gateways(), seed);
        }

        private long workerNanos() {
            return IntStream.rangeClosed(1, WORKERS).mapToLong(worker -> fleet.workerProcess(worker).info()
                    .totalCpuDuration().orElse(Duration.ZERO).toNanos()).sum();
        }

        double mean(ToDoubleFunction<Round> figure) {
            return rounds.stream().mapToDouble(figure).average().orElseThrow();
        }

        @Override
        public void close() {
            fleet.close();
            redis.close();
        }
    }

    @Test
    void two_routers_find_cached_what_one_finds() throws Exception {
        try (var one = new SetUp(1); var two = new SetUp(2)) {
            two.warmUp();
            double perSecond = one.warmUp() * (IS_TOGETHER ? LOAD / 2 : LOAD);
            System.out.printf(Locale.ROOT, "%.1f requests a second%n%n%s%n%s%n", perSecond,
                    "| round | routers | requests | found cached | first token, mean | p50 | p95 "
                            + "| computed tokens, most over mean | workers' processors |",
                    "|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
            try (var threads = Executors.newFixedThreadPool(IS_TOGETHER ? 2 : 1)) {
                for (int round = 1; round <= ROUNDS; round++) {
                    int number = round;
                    // each goes first every other time
                    List<SetUp> order = round % 2 == 1 ? List.of(one, two) : List.of(two, one);
                    for (Future<Void> ended : threads.invokeAll(order.stream()
                            .<Callable<Void>>map(each -> () -> each.play(number, perSecond)).toList())) {
                        ended.get();
                    }
                }
            }
            printMeans(one, two);

            assertThat(Stream.of(one, two).flatMap(each -> each.rounds.stream()).flatMap(round -> round.turns.stream())
                    .map(Turn::status)).containsOnly(200);
            // in turns, wherever that is, it would be 0.63
            assertThat(one.mean(Round::hitRate)).isGreaterThan(0.7);
            assertThat(two.mean(Round::hitRate)).isGreaterThan(0.9 * one.mean(Round::hitRate));
        }
    }

    private static void printMeans(SetUp one, SetUp two) {
        System.out.printf(Locale.ROOT, "%nmeans of rounds: found cached %.3f and %.3f, first token %.1f and %.1f ms%n",
                one.mean(Round::hitRate), two.mean(Round::hitRate),
                one.mean(Round::meanMillis), two.mean(Round::meanMillis));
        System.out.println("first token, two over one, in order of size: " + IntStream.range(0, ROUNDS)
                .mapToDouble(round -> two.rounds.get(round).meanMillis() / one.rounds.get(round).meanMillis()).sorted()
                .mapToObj("%.2f"::formatted).collect(Collectors.joining(" ")));
    }
}
