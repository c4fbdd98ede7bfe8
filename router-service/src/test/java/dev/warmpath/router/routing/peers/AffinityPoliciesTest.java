package dev.warmpath.router.routing.peers;

import static dev.warmpath.router.routing.CandidateBuilder.named;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.router.routing.RouteReason;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The policies that send a beginning or a conversation to one worker, whoever holds what. */
class AffinityPoliciesTest {

    private static final long KEY = 4711;

    // ---- by hash

    @Test
    void equal_beginnings_go_to_one_worker_and_different_ones_to_all() {
        var world = new PolicyWorld(new PrefixHash()).with(named("a"), named("b"), named("c"));
        Map<String, Integer> counts = new HashMap<>();
        for (long key = 0; key < 300; key++) {
            String home = world.beginning(key).chosen(100);
            assertThat(world.beginning(key).chosen(5_000)).isEqualTo(home);
            counts.merge(home, 1, Integer::sum);
        }

        assertThat(counts.values()).hasSize(3).allSatisfy(count -> assertThat(count).isBetween(70, 130));
        assertThat(world.reason(100)).isEqualTo(RouteReason.AFFINITY);
    }

    @Test
    void when_a_worker_goes_only_its_own_beginnings_move() {
        var three = new PolicyWorld(new PrefixHash()).with(named("a"), named("b"), named("c"));
        var two = new PolicyWorld(new PrefixHash()).with(named("a"), named("c"));
        for (long key = 0; key < 100; key++) {
            String before = three.beginning(key).chosen();
            if (!before.equals("b")) {
                assertThat(two.beginning(key).chosen()).isEqualTo(before);
            }
        }
    }

    /** Of 12 requests and this one a worker may have 5: 1.25 x 13 / 3 = 5.4. */
    @Test
    void the_home_is_left_above_one_and_a_quarter_times_the_mean_with_this_request() {
        List<String> order = order("a", "b", "c");
        var world = new PolicyWorld(new PrefixHash()).beginning(KEY);

        world.with(named(order.get(0)).requests(5), named(order.get(1)).requests(4), named(order.get(2)).requests(3));
        assertThat(world.chosen()).isEqualTo(order.get(0));
        world.with(named(order.get(0)).requests(6), named(order.get(1)).requests(4), named(order.get(2)).requests(2));
        assertThat(world.chosen()).isEqualTo(order.get(1));
        assertThat(world.reason(100)).isEqualTo(RouteReason.LOAD);
    }

    /** Of 20 requests and this one a worker may have 8: 1.25 x 21 / 3 = 8.75. */
    @Test
    void past_a_second_full_worker_the_third_in_the_beginnings_order_is_asked() {
        List<String> order = order("a", "b", "c");
        var world = new PolicyWorld(new PrefixHash()).beginning(KEY);

        world.with(named(order.get(0)).requests(9), named(order.get(1)).requests(9), named(order.get(2)).requests(2));
        assertThat(world.chosen()).isEqualTo(order.get(2));
        world.with(named(order.get(0)).requests(10), named(order.get(1)).requests(8), named(order.get(2)).requests(2));
        assertThat(world.chosen()).isEqualTo(order.get(1));
    }

    @Test
    void an_ejected_home_hands_its_beginnings_to_the_next() {
        List<String> order = order("a", "b", "c");
        var world = new PolicyWorld(new PrefixHash()).beginning(KEY);

        world.with(named(order.get(0)).ejected(), named(order.get(1)), named(order.get(2)));
        assertThat(world.chosen()).isEqualTo(order.get(1));
        assertThat(world.reason(100)).isEqualTo(RouteReason.AFFINITY);
    }

    /** Nearest first. */
    private static List<String> order(String... workers) {
        return Arrays.stream(workers).sorted(Comparator.comparingLong(each -> PrefixHash.distance(KEY, each))).toList();
    }

    // ---- by memory

    @Test
    void a_new_conversation_goes_to_the_fewest_requests_and_stays_there_however_busy_it_gets() {
        var world = new PolicyWorld(new StickySession()).conversation(1);

        assertThat(world.with(named("a").requests(2), named("b").requests(1)).serve(100)).isEqualTo("b");
        world.with(named("a"), named("b").requests(500));
        assertThat(world.serve(100)).isEqualTo("b");
        assertThat(world.reason(100)).isEqualTo(RouteReason.AFFINITY);
        assertThat(world.conversation(2).serve(100)).isEqualTo("a");
        assertThat(world.reason(100)).isEqualTo(RouteReason.AFFINITY);
    }

    @Test
    void asking_without_letting_the_choice_stand_remembers_nothing() {
        var world = new PolicyWorld(new StickySession()).conversation(1);

        assertThat(world.with(named("a").requests(2), named("b").requests(1)).chosen()).isEqualTo("b");
        assertThat(world.with(named("a").requests(1), named("b").requests(2)).chosen()).isEqualTo("a");
        assertThat(world.reason(100)).isEqualTo(RouteReason.LOAD);
    }

    @Test
    void a_conversation_whose_worker_is_ejected_moves_and_does_not_come_back() {
        var world = new PolicyWorld(new StickySession()).conversation(1);
        world.with(named("a"), named("b").requests(1)).serve(100);

        assertThat(world.with(named("a").ejected(), named("b").requests(1)).serve(100)).isEqualTo("b");
        assertThat(world.with(named("a"), named("b").requests(1)).serve(100)).isEqualTo("b");
    }

    /** Room for two: the third pushes out the one that was silent longest, which is not the first. */
    @Test
    void the_longest_silent_conversation_is_forgotten_when_there_is_no_room() {
        var world = new PolicyWorld(new StickySession(2));
        world.with(named("a"), named("b").requests(1));
        world.conversation(1).serve(100);
        world.conversation(2).serve(100);
        world.conversation(1).serve(100);
        world.conversation(3).serve(100);
        world.with(named("a").requests(1), named("b"));

        assertThat(world.conversation(1).chosen()).isEqualTo("a");
        assertThat(world.conversation(3).chosen()).isEqualTo("a");
        assertThat(world.conversation(2).chosen()).isEqualTo("b");
    }
}
