package dev.warmpath.router.routing.peers;

import static dev.warmpath.router.routing.CandidateBuilder.named;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.router.routing.RouteReason;
import java.util.HashMap;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** The policies that do not ask who holds what: in turn, by chance, by requests. */
class BlindPoliciesTest {

    @Test
    void round_robin_takes_the_one_that_was_chosen_longest_ago() {
        var world = new PolicyWorld(new RoundRobin());

        world.with(named("a").chosen(7), named("b").chosen(5), named("c").chosen(6));
        assertThat(world.chosen()).isEqualTo("b");
        assertThat(world.reason(100)).isEqualTo(RouteReason.TURN);
        assertThat(world.costs(100)).containsExactly(7L, 5L, 6L);
    }

    @Test
    void round_robin_looks_neither_at_load_nor_at_the_prefix() {
        var world = new PolicyWorld(new RoundRobin());

        assertThat(world.with(named("busy").chosen(1).requests(99), named("warm").chosen(2).matched(6)).chosen())
                .isEqualTo("busy");
    }

    @Test
    void round_robin_gives_a_new_worker_its_turn_at_once_and_leaves_an_ejected_one_out() {
        var world = new PolicyWorld(new RoundRobin());

        assertThat(world.with(named("a").chosen(8), named("new"), named("b").chosen(9)).chosen()).isEqualTo("new");
        assertThat(world.with(named("a").chosen(8), named("new").ejected(), named("b").chosen(9)).chosen())
                .isEqualTo("a");
    }

    @Test
    void random_takes_the_one_that_the_draw_says() {
        var world = new PolicyWorld(new RandomChoice()).with(named("a"), named("b").requests(99), named("c"));

        assertThat(world.draw(0).chosen()).isEqualTo("a");
        assertThat(world.draw(1).chosen()).isEqualTo("b");
        assertThat(world.draw(5).chosen()).isEqualTo("c");
        assertThat(world.costs(100)).containsExactly(0L, 0L, 0L);
    }

    @Test
    void random_draws_among_healthy_ones_only_and_one_alone_needs_no_draw() {
        var world = new PolicyWorld(new RandomChoice()).with(named("a").ejected(), named("b"), named("c"));

        assertThat(world.draw(0).chosen()).isEqualTo("b");
        assertThat(world.draw(1).chosen()).isEqualTo("c");
        assertThat(world.with(named("a").ejected(), named("b")).draw(7).reason(100)).isEqualTo(RouteReason.ONLY_ONE);
    }

    @Test
    void random_is_even_over_three_thousand_draws() {
        var world = new PolicyWorld(new RandomChoice()).with(named("a"), named("b"), named("c"));
        var random = new SplittableRandom(1);
        Map<String, Integer> counts = new HashMap<>();
        for (int i = 0; i < 3_000; i++) {
            counts.merge(world.draw(random.nextLong()).chosen(), 1, Integer::sum);
        }

        assertThat(counts.values()).hasSize(3).allSatisfy(count -> assertThat(count).isBetween(900, 1_100));
    }

    @Test
    void least_requests_takes_the_fewest_and_of_equal_ones_the_longest_not_chosen() {
        var world = new PolicyWorld(new LeastRequests());

        world.with(named("a").requests(3), named("b").requests(2), named("c").requests(4).matched(6));
        assertThat(world.chosen()).isEqualTo("b");
        assertThat(world.reason(100)).isEqualTo(RouteReason.LOAD);
        assertThat(world.costs(100)).containsExactly(3L, 2L, 4L);
        world.with(named("a").requests(2).chosen(9), named("b").requests(2).chosen(8), named("c").requests(4));
        assertThat(world.chosen()).isEqualTo("b");
        assertThat(world.reason(100)).isEqualTo(RouteReason.TURN);
    }

    @Test
    void least_requests_leaves_an_ejected_worker_out_unless_all_are() {
        var world = new PolicyWorld(new LeastRequests());

        assertThat(world.with(named("a").ejected(), named("b").requests(5)).chosen()).isEqualTo("b");
        assertThat(world.with(named("a").ejected(), named("b").ejected().requests(5)).chosen()).isEqualTo("a");
    }

    /** The lower half of the draw says which is the first, the upper half which of the others is the second. */
    @Test
    void power_of_two_takes_the_less_busy_of_the_two_that_are_drawn_whatever_the_third_has() {
        var world = new PolicyWorld(new PowerOfTwo())
                .with(named("a").requests(3), named("b").requests(2), named("idle"));

        assertThat(world.draw(draw(/* first */ 0, /* other */ 0)).chosen()).isEqualTo("b");        // a against b
        assertThat(world.draw(draw(0, 1)).chosen()).isEqualTo("idle");                             // a against idle
        assertThat(world.draw(draw(1, 0)).chosen()).isEqualTo("b");                                // b against a
        assertThat(world.draw(draw(2, 1)).chosen()).isEqualTo("idle");                             // idle against b
        assertThat(world.reason(100)).isEqualTo(RouteReason.LOAD);
    }

    @Test
    void power_of_two_with_as_many_requests_takes_the_one_chosen_longest_ago() {
        var world = new PolicyWorld(new PowerOfTwo())
                .with(named("a").requests(2).chosen(9), named("b").requests(2).chosen(8), named("idle"));

        assertThat(world.draw(draw(0, 0)).chosen()).isEqualTo("b");
        assertThat(world.reason(100)).isEqualTo(RouteReason.TURN);
    }

    @Test
    void power_of_two_draws_among_healthy_ones_only() {
        var world = new PolicyWorld(new PowerOfTwo())
                .with(named("a").ejected(), named("b").requests(1), named("c").requests(2));

        assertThat(world.draw(draw(0, 0)).chosen()).isEqualTo("b");
        assertThat(world.draw(draw(1, 0)).chosen()).isEqualTo("b");
        assertThat(world.with(named("a").ejected(), named("b")).draw(-1).chosen()).isEqualTo("b");
    }

    private static long draw(int first, int other) {
        return (long) other << 32 | first;
    }
}
