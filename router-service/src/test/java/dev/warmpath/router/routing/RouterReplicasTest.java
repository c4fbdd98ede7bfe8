package dev.warmpath.router.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.router.routing.SimulatedFleet.Figures;
import dev.warmpath.router.routing.SimulatedFleet.Load;
import java.time.Duration;
import java.util.List;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * Whether routers that know of each other's work by heartbeats alone place requests as well as one router that knows
 * everything. Chats keep the eight workers about 85 percent busy. Documents are longer than a step, and all of them
 * together about as large as all caches, so that a request at the wrong worker costs a second of it.
 *
 * <p>Found, as the mean of four runs of 80 s, time to first token in milliseconds; before: heartbeats once a second
 * that count queued prompts in full and do not say whose they are, smoothed by mean and minimum. The test has three
 * runs of 60 s:
 * <pre>
 *               before                     now
 *   routers     found  mean    p95         found  mean    p95
 *   chats
 *      1        78.6 %   87    184         78.2 %   85    170
 *      2        78.7 %   96    219         78.3 %   89    184
 *      4        78.9 %  101    233         78.3 %   93    198
 *      8        76.3 %  195    587         78.2 %   94    200
 *   documents
 *      1        91.9 %  153    825         92.1 %  149    778
 *      2        91.5 %  173    936         91.9 %  149    778
 *      4        90.6 %  218  1,104         91.5 %  161    860
 *      8        82.5 %  869  3,527         91.7 %  153    778
 * </pre>
 */
class RouterReplicasTest {

    private static final Load CHATS = new Load(/* per second */ 19, /* commonPrompts */ 12, 160, 960);
    private static final Load DOCUMENTS = new Load(6, 60, /* shortestCommon */ 2_000, 6_000);
    private static final Duration DURATION = Duration.ofSeconds(60);
    private static final int RUNS = 3;

    @Test
    void two_four_and_eight_routers_place_chats_like_one() {
        assertLikeOne(CHATS);
    }

    @Test
    void two_four_and_eight_routers_place_long_documents_like_one() {
        assertLikeOne(DOCUMENTS);
    }

    private static void assertLikeOne(Load load) {
        Figures one = mean(1, load);
        for (int routers : new int[] {2, 4, 8}) {
            Figures several = mean(routers, load);
            String figures = routers + " routers: " + several + ", one: " + one;
            assertThat(several.hitRate()).as(figures).isBetween(one.hitRate() - 0.01, one.hitRate() + 0.01);
            assertThat(several.peakToMean()).as(figures).isLessThan(one.peakToMean() * 1.10);
            assertThat(several.meanMillis()).as(figures).isLessThan(one.meanMillis() * 1.15);
        }
    }

    private static Figures mean(int routers, Load load) {
        List<Figures> runs = IntStream.rangeClosed(1, RUNS)
                .mapToObj(seed -> new SimulatedFleet(routers, load, seed).run(DURATION)).toList();
        return new Figures(mean(runs, Figures::hitRate), mean(runs, Figures::peakToMean),
                mean(runs, Figures::meanMillis), mean(runs, Figures::p95Millis));
    }

    private static double mean(List<Figures> runs, ToDoubleFunction<Figures> figure) {
        return runs.stream().mapToDouble(figure).average().orElseThrow();
    }
}
