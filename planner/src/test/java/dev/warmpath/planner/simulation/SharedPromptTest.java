package dev.warmpath.planner.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.planner.comparison.Scenario;
import dev.warmpath.router.routing.ExpectedFirstToken;
import dev.warmpath.workload.GeneratedLoad;
import dev.warmpath.workload.PooledCache;
import dev.warmpath.workload.Session;
import dev.warmpath.workload.Turn;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** One prompt that most requests begin with, and how far the fleet is used for it all the same. */
class SharedPromptTest {

    /**
     * Eight clients with five conversations of eight turns each, on workers that cost what a real one measured of
     * itself: there a running answer makes each step of the others longer by six tenths of what is always in it. Of eight draws
     * together, for which of the clients ends last is chance: 2.6 times.
     */
    @Test
    void on_four_processors_40_conversations_behind_one_prompt_end_two_and_a_half_times_sooner_than_on_one() {
        double secondsOfOne = 0;
        double secondsOfFour = 0;
        for (long seed = 1; seed <= 8; seed++) {
            List<Session> clients = GeneratedLoad.BUSY_CLIENTS.sessions(8, /* a second */ 1e6, seed);
            Report four = SimulatedFleet.run(processors(4, seed), ExpectedFirstToken::new, clients);
            secondsOfOne += SimulatedFleet.run(processors(1, seed), ExpectedFirstToken::new, clients).seconds();
            secondsOfFour += four.seconds();

            assertThat(four.requests()).isEqualTo(320);
            assertThat(four.hitRate()).isGreaterThanOrEqualTo(0.97 * pooledHit(clients));
        }
        assertThat(secondsOfOne / secondsOfFour).isGreaterThanOrEqualTo(2.5);
    }

    @ParameterizedTest
    @ValueSource(doubles = {0.3, 0.7, 0.9})
    void nine_of_ten_requests_behind_one_prompt_leave_no_worker_of_a_card_with_a_third_more_than_the_mean(double load) {
        Scenario scenario = Scenario.of(GeneratedLoad.ONE_FOR_MOST, 4_000, 8, 1, load, /* seed */ 1);

        Report report = SimulatedFleet.run(scenario.settings(), ExpectedFirstToken::new, scenario.sessions());

        assertThat(report.maxOverMeanTokens()).isLessThanOrEqualTo(1.3);
        assertThat(report.hitRate()).isGreaterThanOrEqualTo(0.95 * scenario.pooledHit());
    }

    private static SimulatedFleet.Settings processors(int workers, long seed) {
        return new SimulatedFleet.Settings(workers, 1, GeneratedLoad.PIECE, /* blocks */ 8_000, 2_048, 64, 65_536,
                ServiceModel.TINY_ON_A_PROCESSOR, /* event delay */ 5_000, seed);
    }

    /** Turn by turn, as if all clients were as quick. */
    private static double pooledHit(List<Session> clients) {
        var cache = new PooledCache(Long.MAX_VALUE);
        long blocks = 0;
        long found = 0;
        for (int i = 0; i < clients.getFirst().turns().size(); i++) {
            for (Session client : clients) {
                Turn turn = client.turns().get(i);
                blocks += turn.prompt().length() / GeneratedLoad.PIECE;
                found += cache.use(turn) / GeneratedLoad.PIECE;
            }
        }
        return (double) found / blocks;
    }
}
