package dev.warmpath.router.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.router.routing.SimulatedFleet.Figures;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/**
 * Whether routers that know of each other's work by heartbeats alone, once a second, place requests as well as one
 * router that knows everything. 12 conversations a second keep the eight workers about half busy, 19 about 85 percent.
 *
 * <p>Found, as the mean of two runs of 100 s, time to first token in milliseconds; the test has one run of 60 s:
 * <pre>
 *   conversations/s  routers  blocks found  busiest/average worker   mean   p95
 *          12            1        80.4 %            1.71              71    142
 *          12            2        80.4 %            1.77              72    148
 *          12            4        80.6 %            1.70              71    141
 *          19            1        79.6 %            1.37              80    164
 *          19            2        79.8 %            1.42              86    192
 *          19            4        80.0 %            1.43              87    188
 * </pre>
 */
class RouterReplicasTest {

    private static final int CONVERSATIONS_PER_SECOND = 19;
    private static final Duration DURATION = Duration.ofSeconds(60);

    @Test
    void two_and_four_routers_balance_like_one() {
        Figures one = run(1);
        for (int routers : new int[] {2, 4}) {
            Figures several = run(routers);
            String figures = routers + " routers: " + several + ", one: " + one;
            assertThat(several.hitRate()).as(figures).isBetween(one.hitRate() - 0.01, one.hitRate() + 0.01);
            assertThat(several.peakToMean()).as(figures).isLessThan(one.peakToMean() * 1.10);
            assertThat(several.meanMillis()).as(figures).isLessThan(one.meanMillis() * 1.20);
        }
    }

    private static Figures run(int routers) {
        return new SimulatedFleet(routers, CONVERSATIONS_PER_SECOND, /* seed */ 1).run(DURATION);
    }
}
