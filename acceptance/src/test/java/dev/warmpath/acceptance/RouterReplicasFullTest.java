package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.acceptance.SharedPromptLoad.Turn;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * One router and two before three workers that compute, with Redis. Both fleets are up all the time; in each round one
 * after the other is sent the same requests, so that a noisy machine disturbs both alike. Hit rates are asserted, times
 * are printed. System property {@code replicas.rounds}: 2 unless set. {@code benchmarks/results/router-replicas.md} has
 * a table.
 */
@Tag("full")
class RouterReplicasFullTest {

    private static final int ROUNDS = Integer.getInteger("replicas.rounds", 2);
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

        double quantileMillis(double share) {
            long[] sorted = turns.stream().mapToLong(Turn::firstNanos).sorted().toArray();
            return sorted[(int) (share * sorted.length)] / 1e6;
        }

        /** Computed tokens of the worker with most, over those of the average one. */
        double maxOverMean() {
            Map<String, Integer> each = turns.stream()
                    .collect(Collectors.groupingBy(Turn::worker, Collectors.summingInt(Turn::computedTokens)));
            return (double) each.values().stream().max(Integer::compare).orElseThrow() * WORKERS
                    / sum(Turn::computedTokens);
        }
    }

    /** A fleet, and a Redis of its own. */
    private static final class SetUp implements AutoCloseable {

        private final RedisProcess redis = new RedisProcess(RedisProcess.bundled(), LocalFleet.freePort()).start();
        private final LocalFleet fleet;

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

        Round round(long seed, double requestsPerSecond) {
            long before = workerNanos();
            long startNanos = System.nanoTime();
            List<Turn> turns = load(seed).offer(CONVERSATIONS, requestsPerSecond);
            return new Round(turns, (double) (workerNanos() - before) / (System.nanoTime() - startNanos));
        }

        private SharedPromptLoad load(long seed) {
            return new SharedPromptLoad(fleet.gateways(), seed);
        }

        private long workerNanos() {
            return IntStream.rangeClosed(1, WORKERS).mapToLong(worker -> fleet.workerProcess(worker).info()
                    .totalCpuDuration().orElse(Duration.ZERO).toNanos()).sum();
        }

        @Override
        public void close() {
            fleet.close();
            redis.close();
        }
    }

    @Test
    void two_routers_find_cached_what_one_finds() {
        List<Round> ones = new ArrayList<>();
        List<Round> twos = new ArrayList<>();
        try (var one = new SetUp(1); var two = new SetUp(2)) {
            two.warmUp();
            double perSecond = LOAD * one.warmUp();
            System.out.printf(Locale.ROOT, "%.1f requests a second%n%n", perSecond);
            System.out.println("| round | routers | requests | found cached | first token, mean | p50 | p95 "
                    + "| computed tokens, most over mean | workers' processors |");
            System.out.println("|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
            for (int round = 1; round <= ROUNDS; round++) {
                // each goes first every other time
                if (round % 2 == 0) {
                    twos.add(print(round, 2, two.round(round, perSecond)));
                }
                ones.add(print(round, 1, one.round(round, perSecond)));
                if (round % 2 == 1) {
                    twos.add(print(round, 2, two.round(round, perSecond)));
                }
            }
        }
        printMeans(ones, twos);

        assertThat(Stream.concat(ones.stream(), twos.stream()).flatMap(round -> round.turns.stream()).map(Turn::status))
                .containsOnly(200);
        assertThat(mean(ones, Round::hitRate)).isGreaterThan(0.75);
        assertThat(mean(twos, Round::hitRate)).isGreaterThan(0.9 * mean(ones, Round::hitRate));
    }

    private static void printMeans(List<Round> ones, List<Round> twos) {
        String ratios = IntStream.range(0, ROUNDS)
                .mapToDouble(round -> twos.get(round).meanMillis() / ones.get(round).meanMillis()).sorted()
                .mapToObj("%.2f"::formatted).collect(Collectors.joining(" "));
        System.out.printf(Locale.ROOT, "%nmeans of all rounds: found cached %.3f and %.3f, first token %.1f and %.1f ms%n",
                mean(ones, Round::hitRate), mean(twos, Round::hitRate),
                mean(ones, Round::meanMillis), mean(twos, Round::meanMillis));
        System.out.println("first token, two over one, in order of size: " + ratios);
    }

    private static double mean(List<Round> rounds, ToDoubleFunction<Round> figure) {
        return rounds.stream().mapToDouble(figure).average().orElseThrow();
    }

    private static Round print(int number, int routers, Round round) {
        System.out.printf(Locale.ROOT, "| %d | %d | %d | %.3f | %.1f ms | %.1f | %.1f | %.2f | %.2f |%n",
                number, routers, round.turns.size(), round.hitRate(), round.meanMillis(), round.quantileMillis(0.5),
                round.quantileMillis(0.95), round.maxOverMean(), round.workerSeconds);
        return round;
    }
}
