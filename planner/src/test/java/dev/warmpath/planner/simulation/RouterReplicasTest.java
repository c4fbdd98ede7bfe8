package dev.warmpath.planner.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.router.routing.ExpectedFirstToken;
import dev.warmpath.workload.GeneratedLoad;
import dev.warmpath.workload.Session;
import java.util.List;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * Whether routers that know of each other's work by heartbeats alone place requests as well as one router that knows
 * everything. A step of a worker runs in seven of ten moments. Documents are longer than a step, and all of them
 * together about as large as all caches, so that a request at the wrong worker costs half a second of it.
 *
 * <p>Found, as the mean of four runs, time to first token in milliseconds; what it was without early heartbeats is in
 * decision 9. The test has three runs:
 * <pre>
 *   routers     found  mean    p95
 *   chats
 *      1        85.8 %   45     99
 *      2        85.9 %   47    102
 *      4        85.7 %   48    107
 *      8        85.5 %   49    112
 *   chats about documents
 *      1        89.3 %  107    513
 *      2        90.1 %  101    503
 *      4        89.0 %  110    546
 *      8        89.1 %  114    553
 * </pre>
 * Where prompts are new more often, several routers are not like one: {@code benchmarks/results/routing-quality.md}.
 */
class RouterReplicasTest {

    private static final int RUNS = 3;

    @Test
    void two_four_and_eight_routers_place_chats_like_one() {
        assertLikeOne(GeneratedLoad.QUICK_CHATS, /* sessions */ 700, /* per second */ 16);
    }

    @Test
    void two_four_and_eight_routers_place_chats_about_long_documents_like_one() {
        assertLikeOne(GeneratedLoad.DOCUMENT_CHATS, /* sessions */ 400, /* per second */ 6);
    }

    private static void assertLikeOne(GeneratedLoad load, int sessions, double sessionsPerSecond) {
        List<List<Session>> runs = IntStream.rangeClosed(1, RUNS)
                .mapToObj(seed -> load.sessions(sessions, sessionsPerSecond, seed)).toList();
        Figures one = Figures.of(1, runs);
        for (int routers : new int[] {2, 4, 8}) {
            Figures several = Figures.of(routers, runs);
            String figures = routers + " routers: " + several + ", one: " + one;
            assertThat(several.hitRate).as(figures).isGreaterThan(one.hitRate - 0.01);
            assertThat(several.meanMillis).as(figures).isLessThan(one.meanMillis * 1.15);
            assertThat(several.p95Millis).as(figures).isLessThan(one.p95Millis * 1.20);
        }
    }

    /** Means of all runs. */
    private record Figures(double hitRate, double meanMillis, double p95Millis) {

        static Figures of(int routers, List<List<Session>> runs) {
            List<Report> reports = IntStream.range(0, RUNS).mapToObj(run -> SimulatedFleet.run(
                    settings(routers, /* seed */ run + 1), ExpectedFirstToken::new, runs.get(run))).toList();
            assertThat(reports).noneMatch(Report::isOverloaded);
            return new Figures(mean(reports, Report::hitRate), mean(reports, Report::meanMillis),
                    mean(reports, report -> report.quantileMillis(0.95)));
        }

        private static double mean(List<Report> reports, ToDoubleFunction<Report> figure) {
            return reports.stream().mapToDouble(figure).average().orElseThrow();
        }
    }

    private static SimulatedFleet.Settings settings(int routers, long seed) {
        return new SimulatedFleet.Settings(/* workers */ 8, routers, GeneratedLoad.PIECE, /* blocks */ 2_000, 2_048, 16,
                65_536, ServiceModel.LARGE_ON_FOUR_CARDS, /* event delay */ 5_000, seed);
    }
}
