package dev.warmpath.router.health;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** A clock that only the test moves; pauses are drawn from the upper half of 1, 2, 4 … 30 s. */
class WorkerHealthTest {

    private static final double SLOW_FACTOR = 5;
    private final Random random = new Random(5);
    private long now = Duration.ofDays(1).toNanos();
    private final WorkerHealth health = worker("w");

    @Test
    void seven_failures_in_a_row_eject_and_six_do_not() {
        failTimes(6);
        assertThat(health.state(now)).isEqualTo(HealthState.HEALTHY);
        assertThat(health.failureShare(now)).isCloseTo(0.47, within(0.01));

        failTimes(1);
        assertThat(health.state(now)).isEqualTo(HealthState.EJECTED);
        assertThat(health.problem()).isEqualTo("failed most of its last requests: worker_lost");
    }

    @Test
    void one_failure_in_ten_costs_and_never_ejects() {
        for (int i = 0; i < 10_000; i++) {
            attempt(i % 10 != 0);
            assertThat(health.state(now)).isEqualTo(HealthState.HEALTHY);
        }
        assertThat(health.failureShare(now)).isBetween(0.05, 0.15);
    }

    @Test
    void failures_fade_by_half_in_thirty_seconds() {
        failTimes(1);
        assertThat(health.failureShare(now)).isCloseTo(0.1, within(1e-9));
        pass(Duration.ofSeconds(30));
        assertThat(health.failureShare(now)).isCloseTo(0.05, within(1e-9));
    }

    @Test
    void rows_without_usable_logits_are_their_requests_own_doing_unless_nobody_gets_a_token() {
        for (int i = 0; i < 1_000; i++) {
            health.unusable("unusable_logits", now, now);
            health.unusable("unusable_logits", now, now);
            health.unusable("unusable_logits", now, now);
            health.firstToken(500, millis(30));
        }
        assertThat(health.failureShare(now)).isZero();

        for (int i = 0; i < 9; i++) {
            health.unusable("unusable_logits", now, now);
            assertThat(health.state(now)).isEqualTo(HealthState.HEALTHY);
        }
        health.unusable("unusable_logits", now, now);
        assertThat(health.problem()).isEqualTo("failed most of its last requests: unusable_logits");
    }

    @Test
    void a_full_queue_costs_for_seconds_and_ejects_nobody() {
        for (int i = 0; i < 100; i++) {
            health.refused(now, now);
        }
        assertThat(health.state(now)).isEqualTo(HealthState.HEALTHY);
        assertThat(health.failureShare(now)).isGreaterThan(0.99);
        pass(Duration.ofSeconds(30));
        assertThat(health.failureShare(now)).isLessThan(0.001);
    }

    @Test
    void a_suspicion_costs_at_once_and_is_gone_when_it_is_dropped() {
        health.suspect();
        assertThat(health.failureShare(now)).isCloseTo(0.1, within(1e-9));
        health.unsuspect();
        assertThat(health.failureShare(now)).isZero();
    }

    @Test
    void three_good_trials_one_after_the_other_bring_it_back_with_a_clean_sheet() {
        failTimes(7);
        assertThat(health.trialOverdueNanos(now)).isNegative();
        pass(Duration.ofSeconds(1));
        assertThat(health.state(now)).isEqualTo(HealthState.ON_TRIAL);

        for (int i = 0; i < 3; i++) {
            assertThat(health.problem()).isNotNull();
            assertThat(health.trialOverdueNanos(now)).isNotNegative();
            health.beginTrial(now);
            assertThat(health.trialOverdueNanos(now)).as("while one runs").isNegative();
            attempt(true);
        }
        assertThat(health.state(now)).isEqualTo(HealthState.HEALTHY);
        assertThat(health.failureShare(now)).isZero();
    }

    @Test
    void pauses_double_up_to_thirty_seconds_while_trials_fail() {
        failTimes(7);
        List<Double> pauses = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            long before = now;
            while (health.state(now) == HealthState.EJECTED) {
                pass(Duration.ofMillis(1));
            }
            pauses.add((now - before) / 1e9);
            health.beginTrial(now);
            attempt(false);
            assertThat(health.state(now)).isEqualTo(HealthState.EJECTED);
        }
        double[] longest = {1, 2, 4, 8, 16, 30, 30, 30};
        for (int i = 0; i < longest.length; i++) {
            assertThat(pauses.get(i)).isBetween(longest[i] / 2, longest[i] + 0.002);
        }
    }

    @Test
    void a_bad_trial_after_two_good_ones_begins_the_count_anew() {
        failTimes(7);
        pass(Duration.ofSeconds(1));
        attempt(true);
        attempt(true);
        attempt(false);
        pass(Duration.ofSeconds(2));
        attempt(true);
        attempt(true);
        assertThat(health.state(now)).isEqualTo(HealthState.ON_TRIAL);
        attempt(true);
        assertThat(health.state(now)).isEqualTo(HealthState.HEALTHY);
    }

    @Test
    void what_began_before_the_ejection_neither_helps_nor_harms() {
        long before = now;
        pass(Duration.ofMillis(1));
        failTimes(7);
        pass(Duration.ofSeconds(1));
        for (int i = 0; i < 10; i++) {
            health.answered(before, now);
        }
        assertThat(health.state(now)).isEqualTo(HealthState.ON_TRIAL);
        health.failed("worker_lost", before, now);
        assertThat(health.state(now)).isEqualTo(HealthState.ON_TRIAL);
    }

    @Test
    void a_trial_that_was_never_begun_holds_up_the_next_for_a_minute() {
        failTimes(7);
        pass(Duration.ofSeconds(1));
        health.beginTrial(now);
        pass(Duration.ofSeconds(59));
        assertThat(health.trialOverdueNanos(now)).isNegative();
        pass(Duration.ofSeconds(1));
        assertThat(health.trialOverdueNanos(now)).isNotNegative();
    }

    @Test
    void a_trial_whose_client_leaves_is_followed_by_another() {
        failTimes(7);
        pass(Duration.ofSeconds(1));
        health.beginTrial(now);
        health.undecided(now);
        assertThat(health.trialOverdueNanos(now)).isNotNegative();
    }

    /** 30 of 100 requests break whichever of 16 engines computes them. */
    @Test
    void a_fault_of_the_whole_fleet_leaves_most_of_it_healthy() {
        List<WorkerHealth> fleet = fleet(16);
        long ejected = 0;
        for (int i = 0; i < 20_000; i++) {
            WorkerHealth worker = fleet.get(i % 16);
            pass(Duration.ofMillis(10));
            if (random.nextInt(100) < 30) {
                worker.failed("engine_failure", now, now);
            } else {
                worker.answered(now, now);
            }
            HealthComparison.of(List.of(fleet), fleet, SLOW_FACTOR, now);
            ejected += fleet.stream().filter(WorkerHealth::isEjected).count();
        }
        assertThat(ejected / 20_000.0).as("ejected at a time").isLessThan(2);
    }

    @Test
    void where_all_fail_alike_nobody_is_ejected() {
        List<WorkerHealth> fleet = fleet(4);
        for (int i = 0; i < 100; i++) {
            for (WorkerHealth each : fleet) {
                each.failed("engine_failure", now, now);
                HealthComparison.of(List.of(fleet), fleet, SLOW_FACTOR, now);
            }
        }
        assertThat(fleet).allMatch(each -> each.state(now) == HealthState.HEALTHY);
    }

    /** Three of five attempts fail everywhere; whoever has answered nothing yet, or gets nothing new, proves nothing. */
    @Test
    void a_newcomer_and_one_that_gets_nothing_new_are_no_measure_for_the_others() {
        List<WorkerHealth> fleet = fleet(6);
        WorkerHealth newcomer = fleet.get(4);
        WorkerHealth draining = fleet.get(5);
        List<WorkerHealth> open = fleet.subList(0, 5);
        for (int i = 0; i < 20; i++) {
            draining.answered(now, now);
        }
        for (int round = 0; round < 40; round++) {
            HealthComparison.of(List.of(fleet), open, SLOW_FACTOR, now);
            for (WorkerHealth each : fleet.subList(0, 4)) {
                if (round % 5 < 3) {
                    each.failed("worker_lost", now, now);
                } else {
                    each.answered(now, now);
                }
            }
            if (round % 5 == 0) {
                newcomer.answered(now, now);                       // eight in all
            }
        }
        assertThat(fleet).noneMatch(WorkerHealth::isEjected);

        newcomer.answered(now, now);
        newcomer.answered(now, now);
        HealthComparison.of(List.of(fleet), open, SLOW_FACTOR, now);
        for (int i = 0; i < 5; i++) {
            fleet.subList(0, 4).forEach(each -> each.failed("worker_lost", now, now));
        }
        assertThat(fleet.subList(0, 4)).allMatch(WorkerHealth::isEjected);
    }

    /** First tokens after 30 ms, of one worker after 300 ms; 500 prompt tokens to wait for everywhere. */
    @Test
    void a_worker_that_is_ten_times_slower_to_first_tokens_is_ejected_after_eight_of_them() {
        List<WorkerHealth> fleet = fleet(4);
        for (int i = 0; i < 8; i++) {
            HealthComparison.of(List.of(fleet), fleet, SLOW_FACTOR, now);
            assertThat(fleet).noneMatch(WorkerHealth::isEjected);
            fleet.forEach(each -> each.firstToken(500, millis(each == fleet.getLast() ? 300 : 30)));
        }
        HealthComparison.of(List.of(fleet), fleet, SLOW_FACTOR, now);

        assertThat(fleet.getLast().problem())
                .isEqualTo("took 300 ms to a first token, many times what others take for as much work");
        assertThat(fleet.stream().filter(WorkerHealth::isEjected)).hasSize(1);
    }

    @Test
    void a_worker_that_has_ten_times_the_work_is_not_slow() {
        List<WorkerHealth> fleet = fleet(4);
        for (int i = 0; i < 16; i++) {
            fleet.forEach(each -> {
                boolean loaded = each == fleet.getLast();
                each.firstToken(loaded ? 5_000 : 500, millis(loaded ? 300 : 30));
            });
        }
        HealthComparison.of(List.of(fleet), fleet, SLOW_FACTOR, now);
        assertThat(fleet).noneMatch(WorkerHealth::isEjected);
    }

    @Test
    void slow_tokens_eject_unless_it_is_a_few_slow_readers() {
        List<WorkerHealth> fleet = fleet(4);
        for (int i = 0; i < 16; i++) {
            boolean slowReader = i % 3 == 0;
            fleet.forEach(each -> each.tokens(millis(
                    each == fleet.getLast() ? 200 : each == fleet.getFirst() && slowReader ? 1_000 : 20)));
        }
        HealthComparison.of(List.of(fleet), fleet, SLOW_FACTOR, now);
        assertThat(fleet.getLast().problem()).isEqualTo("took 200 ms a token, many times what others take");
        assertThat(fleet.getFirst().state(now)).isEqualTo(HealthState.HEALTHY);
    }

    @Test
    void at_most_a_quarter_of_a_revision_is_out_for_slowness() {
        List<WorkerHealth> fleet = fleet(16);
        for (int i = 0; i < 16; i++) {
            for (int w = 0; w < 16; w++) {
                fleet.get(w).tokens(millis(w < 7 ? 400 : 30));
            }
        }
        HealthComparison.of(List.of(fleet), fleet, SLOW_FACTOR, now);
        HealthComparison.of(List.of(fleet), fleet, SLOW_FACTOR, now);
        assertThat(fleet.stream().filter(WorkerHealth::isEjected)).hasSize(4);
    }

    @Test
    void differences_that_nobody_notices_eject_nobody() {
        List<WorkerHealth> fleet = fleet(4);
        for (int i = 0; i < 16; i++) {
            fleet.forEach(each -> {
                each.firstToken(10, millis(each == fleet.getLast() ? 90 : 1));
                each.tokens(millis(each == fleet.getLast() ? 19 : 1));
            });
        }
        HealthComparison.of(List.of(fleet), fleet, SLOW_FACTOR, now);
        assertThat(fleet).noneMatch(WorkerHealth::isEjected);
    }

    @Test
    void a_slow_worker_stays_out_while_its_trials_are_slow() {
        List<WorkerHealth> fleet = fleet(4);
        WorkerHealth slow = fleet.getLast();
        for (int i = 0; i < 16; i++) {
            fleet.forEach(each -> each.firstToken(500, millis(each == slow ? 300 : 30)));
        }
        HealthComparison.of(List.of(fleet), fleet, SLOW_FACTOR, now);
        for (int i = 0; i < 5; i++) {
            pass(Duration.ofSeconds(30));
            slow.firstToken(500, millis(300));
            slow.answered(now, now);
            assertThat(slow.state(now)).isEqualTo(HealthState.EJECTED);
        }
        pass(Duration.ofSeconds(30));
        for (int i = 0; i < 3; i++) {
            slow.firstToken(500, millis(30));
            slow.answered(now, now);
        }
        assertThat(slow.state(now)).isEqualTo(HealthState.HEALTHY);
    }

    @Test
    void seven_empty_promises_cost_all_credit_and_seven_kept_ones_bring_it_back() {
        for (int i = 0; i < 6; i++) {
            health.found(1_000, 0);
        }
        assertThat(health.credit()).isCloseTo(0.53, within(0.01));
        health.found(1_000, 0);
        assertThat(health.credit()).isZero();
        for (int i = 0; i < 50; i++) {
            health.found(1_000, 0);
        }
        for (int i = 0; i < 6; i++) {
            health.found(1_000, 1_000);
        }
        assertThat(health.credit()).isZero();
        health.found(1_000, 1_000);
        assertThat(health.credit()).isGreaterThan(0.5);
    }

    @Test
    void a_block_or_two_evicted_on_the_way_and_one_miss_in_twenty_cost_next_to_nothing() {
        for (int i = 0; i < 1_000; i++) {
            health.found(1_000, i % 20 == 0 ? 0 : 984);
            assertThat(health.credit()).isGreaterThan(0.83);
        }
        health.found(100, 5_000);
        assertThat(health.credit()).as("more than promised is no more than kept").isLessThanOrEqualTo(1);
    }

    private List<WorkerHealth> fleet(int workers) {
        List<WorkerHealth> fleet = new ArrayList<>();
        for (int i = 0; i < workers; i++) {
            fleet.add(worker("w" + i));
        }
        return fleet;
    }

    private WorkerHealth worker(String id) {
        return new WorkerHealth(id, now, random);
    }

    private void failTimes(int times) {
        for (int i = 0; i < times; i++) {
            attempt(false);
        }
    }

    private void attempt(boolean good) {
        if (good) {
            health.answered(now, now);
        } else {
            health.failed("worker_lost", now, now);
        }
    }

    private void pass(Duration time) {
        now += time.toNanos();
    }

    private static long millis(long millis) {
        return Duration.ofMillis(millis).toNanos();
    }
}
