package dev.warmpath.planner.simulation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.warmpath.router.routing.ExpectedFirstToken;
import dev.warmpath.workload.GeneratedLoad;
import dev.warmpath.workload.Prompt;
import dev.warmpath.workload.Session;
import dev.warmpath.workload.Turn;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class SimulatedFleetTest {

    /** A step is 1 ms, and 10 us for each token of a prompt; nothing else costs. */
    private static final ServiceModel SIMPLE = new ServiceModel(1_000, 10, 0, 0, 0);

    @Test
    void a_prompts_first_token_takes_its_step_and_what_is_cached_is_not_computed_again() {
        Session first = Session.of(0, turn(1, 2, 3, 4));           // 64 tokens: 1,640 us
        Session again = Session.of(1_000_000, turn(1, 2, 3, 4));   // 48 of them cached: 1,160 us

        Report report = run(settings(2, 1), List.of(first, again));

        assertThat(report.quantileMillis(0.5)).isEqualTo(1.16);
        assertThat(report.quantileMillis(1)).isEqualTo(1.64);
        assertThat(report.hitRate()).isEqualTo(3.0 / 8);
        assertThat(report.maxOverMeanTokens()).as("all at one of two workers").isEqualTo(2);
    }

    @Test
    void two_prompts_at_once_take_a_worker_each_and_a_third_waits_for_a_step() {
        List<Session> sessions = List.of(Session.of(0, turn(1, 2, 3, 4)), Session.of(0, turn(5, 6, 7, 8)),
                Session.of(0, turn(9)));

        Report report = run(settings(2, 1), sessions);

        // it comes when both compute: until 1,640 us, then a step for its 16 tokens and a row of another one
        assertThat(report.quantileMillis(0.5)).isEqualTo(1.64);
        assertThat(report.quantileMillis(1)).isEqualTo(1.64 + 1.16);
        assertThat(report.meanMillis()).isCloseTo(1.64 + 1.16 / 3, within(1e-9));
    }

    @Test
    void the_next_turn_comes_when_the_answer_before_it_has_ended_and_the_client_has_thought() {
        // 1 + 1 step for two tokens, 500 us of thinking: the second turn begins at 1,160 + 1,000 + 500 us
        var session = new Session(0, List.of(new Turn(prompt(1), 2), turn(1, 2)), new long[] {500});

        Report report = run(settings(1, 1), List.of(session));

        assertThat(report.quantileMillis(0)).isEqualTo(1.16);
        assertThat(report.quantileMillis(1)).isEqualTo(1.16);
        assertThat(report.betweenTokens().meanMillis()).as("of the first turn alone").isEqualTo(1);
        assertThat(report.busyShare()).isCloseTo((1_160 + 1_000 + 1_160) / 3_820.0, within(1e-9));
    }

    @Test
    void a_seed_gives_the_same_run_again_and_another_one_another() {
        List<Session> sessions = GeneratedLoad.TENANTS.sessions(400, 20, /* seed */ 1);

        Report one = run(settings(4, 3), sessions);
        Report again = run(settings(4, 3), sessions);
        Report other = run(settings(4, 3), GeneratedLoad.TENANTS.sessions(400, 20, /* seed */ 2));

        assertThat(one.firstToken()).isEqualTo(again.firstToken()).isNotEqualTo(other.firstToken());
        assertThat(one.requests()).isEqualTo(400);
    }

    @Test
    void a_first_token_comes_later_by_what_a_request_takes_beside_steps() {
        var settings = new SimulatedFleet.Settings(2, 1, GeneratedLoad.PIECE, /* blocks */ 2_000, 4_096, 64, 65_536,
                SIMPLE.withRequestMicros(5_000), /* event delay */ 100, /* seed */ 1);

        assertThat(run(settings, List.of(Session.of(0, turn(1, 2, 3, 4)))).meanMillis()).isCloseTo(6.64, within(0.001));
    }

    @Test
    void a_request_that_no_pool_can_hold_is_refused_and_counted_and_its_session_goes_on() {
        long[] pieces = LongStream.range(1, 2_100).toArray();      // 2,099 blocks, and the pool has 2,000
        var session = new Session(0, List.of(turn(pieces), turn(1, 2)), new long[] {0});

        Report report = run(settings(2, 1), List.of(session));

        assertThat(report.refused()).isEqualTo(1);
        assertThat(report.requests()).isEqualTo(1);
    }

    private static Report run(SimulatedFleet.Settings settings, List<Session> sessions) {
        return SimulatedFleet.run(settings, ExpectedFirstToken::new, sessions);
    }

    private static SimulatedFleet.Settings settings(int workers, int routers) {
        return new SimulatedFleet.Settings(workers, routers, GeneratedLoad.PIECE, /* blocks */ 2_000, 4_096, 64, 65_536,
                SIMPLE, /* event delay */ 100, /* seed */ 1);
    }

    private static Turn turn(long... pieces) {
        return new Turn(prompt(pieces), 1);
    }

    private static Prompt prompt(long... pieces) {
        return new Prompt(pieces, GeneratedLoad.PIECE, pieces.length * GeneratedLoad.PIECE);
    }
}
