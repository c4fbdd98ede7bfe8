package dev.warmpath.worker.compute.cpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.util.concurrent.atomic.AtomicIntegerArray;
import org.junit.jupiter.api.Test;

class ThreadTeamTest {

    @Test
    void every_unit_of_every_task_runs_exactly_once() {
        try (var team = new ThreadTeam(3, "test")) {
            for (int round = 0; round < 20_000; round++) {
                int count = 1 + round % 9;
                var runs = new AtomicIntegerArray(count);
                team.run((unit, member) -> runs.incrementAndGet(unit), count, false);
                for (int unit = 0; unit < count; unit++) {
                    assertThat(runs.get(unit)).isEqualTo(1);
                }
            }
        }
    }

    @Test
    void one_thread_or_little_work_runs_in_the_caller() {
        var caller = Thread.currentThread();
        try (var alone = new ThreadTeam(1, "test"); var pair = new ThreadTeam(2, "test")) {
            alone.run((unit, member) -> assertThat(Thread.currentThread()).isSameAs(caller), 50, false);
            pair.run((unit, member) -> assertThat(Thread.currentThread()).isSameAs(caller), 50, true);
        }
    }

    @Test
    void a_failing_unit_fails_the_task_and_the_team_goes_on() {
        try (var team = new ThreadTeam(2, "test")) {
            assertThatIllegalStateException().isThrownBy(() -> team.run((unit, member) -> {
                throw new IllegalArgumentException("unit " + unit);
            }, 8, false)).withCauseInstanceOf(IllegalArgumentException.class);
            var runs = new AtomicIntegerArray(1);
            team.run((unit, member) -> runs.incrementAndGet(0), 8, false);
            assertThat(runs.get(0)).isEqualTo(8);
        }
    }
}
