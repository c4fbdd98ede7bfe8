package dev.warmpath.worker.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.worker.engine.StepWatch.Verdict;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class StepWatchTest {

    private final StepWatch watch = new StepWatch(Duration.ofSeconds(60));

    @Test
    void a_step_hangs_from_60_seconds_on_and_its_device_is_dead_at_120() {
        assertThat(watch.intervalNanos()).isEqualTo(Duration.ofSeconds(1).toNanos());
        for (int second = 0; second < 60; second++) {
            assertThat(lookAfter(second)).isEqualTo(Verdict.MOVES);
        }
        for (int second = 60; second < 120; second++) {
            assertThat(lookAfter(second)).as("after %d s", second).isEqualTo(Verdict.HANGS);
        }
        assertThat(lookAfter(120)).isEqualTo(Verdict.DEAD);
    }

    @Test
    void a_process_that_was_stopped_for_an_hour_gives_its_device_60_looks_to_come_back() {
        assertThat(lookAfter(1)).isEqualTo(Verdict.MOVES);
        for (int look = 1; look < 60; look++) {
            assertThat(lookAfter(3_600 + look)).as("look %d", look).isEqualTo(Verdict.HANGS);
        }
        assertThat(lookAfter(0)).as("the step has ended").isEqualTo(Verdict.MOVES);

        for (int look = 1; look < 60; look++) {
            assertThat(lookAfter(3_600 + look)).as("another hour, look %d", look).isEqualTo(Verdict.HANGS);
        }
        assertThat(lookAfter(3_660)).isEqualTo(Verdict.DEAD);
    }

    @Test
    void a_bound_of_one_second_is_looked_at_ten_times() {
        assertThat(new StepWatch(Duration.ofSeconds(1)).intervalNanos()).isEqualTo(100_000_000);
    }

    private Verdict lookAfter(long seconds) {
        return watch.look(Duration.ofSeconds(seconds).toNanos());
    }
}
