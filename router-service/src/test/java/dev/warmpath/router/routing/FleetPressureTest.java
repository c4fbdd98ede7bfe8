package dev.warmpath.router.routing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.warmpath.router.health.HealthState;
import java.util.List;
import org.junit.jupiter.api.Test;

class FleetPressureTest {

    private static final long SECOND = 1_000_000_000L;
    private static final List<Candidate> HALF_BUSY = List.of(worker(10), worker(0));
    private static final List<Candidate> IDLE = List.of(worker(0), worker(0));

    private final FleetPressure pressure = new FleetPressure();

    private void observe(List<Candidate> workers, long nowNanos) {
        pressure.observe(busyShare(workers, nowNanos), nowNanos);
    }

    private double busyShare(List<Candidate> workers, long nowNanos) {
        return pressure.busyShare(Candidates.of(workers), nowNanos);
    }

    @Test
    void a_fleet_that_stays_half_busy_is_taken_for_so_after_some_seconds() {
        observe(HALF_BUSY, 0);
        assertThat(busyShare(HALF_BUSY, 0)).as("for no time yet").isZero();

        observe(HALF_BUSY, 2 * SECOND);
        assertThat(busyShare(HALF_BUSY, 2 * SECOND)).isCloseTo(0.5 * (1 - Math.exp(-1)), within(1e-9));
        observe(HALF_BUSY, 20 * SECOND);
        assertThat(busyShare(HALF_BUSY, 20 * SECOND)).isCloseTo(0.5, within(1e-3));
        assertThat(busyShare(IDLE, 22 * SECOND)).isCloseTo(0.5 * Math.exp(-1), within(1e-3));
    }

    @Test
    void asking_changes_nothing() {
        observe(HALF_BUSY, 0);

        assertThat(busyShare(HALF_BUSY, SECOND)).isEqualTo(busyShare(HALF_BUSY, SECOND));
    }

    @Test
    void a_million_tokens_of_prompts_say_as_much_of_what_is_reused_as_all_before() {
        pressure.placed(/* cachedTokens */ 800_000, /* promptTokens */ 1_000_000);

        assertThat(pressure.reuse()).isEqualTo(0.4);
        pressure.placed(0, 10);
        assertThat(pressure.reuse()).isCloseTo(0.4, within(1e-5));
    }

    @Test
    void workers_that_get_no_requests_are_no_measure() {
        List<Candidate> withEjected =
                List.of(worker(10), worker(0, HealthState.EJECTED), worker(0, HealthState.EJECTED));
        observe(withEjected, 0);
        observe(withEjected, 60 * SECOND);

        assertThat(pressure.busyShare()).isCloseTo(1, within(1e-9));
        observe(List.of(worker(0, HealthState.EJECTED)), 90 * SECOND);
        assertThat(pressure.busyShare()).as("nobody tells").isCloseTo(1, within(1e-9));
    }

    private static Candidate worker(long pendingTokens) {
        return worker(pendingTokens, HealthState.HEALTHY);
    }

    private static Candidate worker(long pendingTokens, HealthState health) {
        return CandidateBuilder.named("w").pending(pendingTokens).health(health).build();
    }
}
