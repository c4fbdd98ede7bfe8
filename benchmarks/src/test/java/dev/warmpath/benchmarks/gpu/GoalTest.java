package dev.warmpath.benchmarks.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;

class GoalTest {

    private static final Goal GOAL = Goal.share("decode", 0.85, "copy bandwidth");

    @Test
    void a_share_at_the_goal_meets_it_and_one_below_misses_it() {
        assertThat(GOAL.reached("294 µs", "250 µs", 0.85, Map.of()).markdown())
                .isEqualTo("| decode | 294 µs | 250 µs | 85.0 % | ≥ 85 % of copy bandwidth | met |");
        assertThat(GOAL.reached("295 µs", "250 µs", 0.8475, Map.of()).verdict()).isEqualTo("missed");
    }

    @Test
    void a_share_that_is_no_number_meets_nothing() {
        assertThat(GOAL.reached("0 µs", "0 µs", Double.NaN, Map.of()).verdict()).isEqualTo("missed");
    }

    @Test
    void a_row_that_did_not_run_says_why_beside_its_target() {
        assertThat(GOAL.notRun("no card").markdown())
                .isEqualTo("| decode | – | – | – | ≥ 85 % of copy bandwidth | not run: no card |");
    }

    @Test
    void sizes_without_a_goal_get_no_verdict() {
        assertThat(GOAL.reached("1 µs", "1 µs", 1, Map.of()).withoutVerdict("quick sizes").verdict())
                .isEqualTo("not judged: quick sizes");
        assertThat(GOAL.notRun("no card").withoutVerdict("quick sizes").verdict()).isEqualTo("not run: no card");
    }
}
