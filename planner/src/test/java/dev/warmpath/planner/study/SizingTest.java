package dev.warmpath.planner.study;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.planner.simulation.Policies;
import dev.warmpath.planner.simulation.ServiceModel;
import dev.warmpath.planner.simulation.SimulatedFleet;
import dev.warmpath.router.routing.PolicyName;
import dev.warmpath.workload.GeneratedLoad;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class SizingTest {

    private final List<Integer> simulated = new ArrayList<>();

    @Test
    void eleven_workers_are_found_by_doubling_to_16_and_halving_each_tried_once() throws Exception {
        Sizing sizing = sizing(11, 1_024);
        assertThat(sizing.fewest()).isEqualTo(11);
        sizing.run(10);
        assertThat(simulated).containsExactly(1, 2, 4, 8, 16, 12, 10, 11);
    }

    @Test
    void one_worker_may_be_enough_and_the_most_may_be_too_few() throws Exception {
        assertThat(sizing(1, 1_024).fewest()).isEqualTo(1);
        assertThat(sizing(7, 6).fewest()).isNull();
        assertThat(sizing(6, 6).fewest()).isEqualTo(6);
    }

    @Test
    void an_objective_is_kept_up_to_its_bound_less_the_headroom() {
        var settings = new SimulatedFleet.Settings(1, 1, GeneratedLoad.PIECE, 100_000, 8_192, 256, 262_144,
                new ServiceModel(1_000, 1, 0, 0, 0), 0, 1);
        var report = SimulatedFleet.run(settings, Policies.of(PolicyName.ROUND_ROBIN),
                GeneratedLoad.named().values().iterator().next().sessions(3, 0.001, 1));
        double mean = report.meanMillis();

        assertThat(Objectives.of("ttft-mean=%.3fms".formatted(mean * 1.05)).broken(report, 0)).isEmpty();
        assertThat(Objectives.of("ttft-mean=%.3fms".formatted(mean * 1.05)).broken(report, 0.1))
                .startsWith("ttft-mean ");
        assertThat(Objectives.of("ttft-p99=900s, itl-mean=0.5ms").broken(report, 0))
                .as("a step alone takes 1 ms").startsWith("itl-mean 1.0 ms > 0.5 ms");
    }

    @Test
    void bounds_are_a_time_a_statistic_and_a_unit() {
        assertThat(Objectives.of("TTFT-p90=2s,itl-mean=50ms").bounds()).containsExactly(
                new Objectives.Bound(true, "p90", 2_000), new Objectives.Bound(false, "mean", 50));
        assertThatThrownBy(() -> Objectives.of("ttft=2s")).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("'ttft=2s'");
    }

    private Sizing sizing(int needed, int most) {
        return new Sizing(workers -> {
            simulated.add(workers);
            return new Row(new Cell(workers, 1, new CacheSize.Tokens(1), PolicyName.ROUND_ROBIN), 1,
                    SimulatedFleet.run(new SimulatedFleet.Settings(1, 1, 16, 8, 16, 1, 64,
                            ServiceModel.TINY_ON_A_PROCESSOR, 0, 1), Policies.of(PolicyName.ROUND_ROBIN), List.of()));
        }, row -> row.cell().workers() >= needed, most);
    }
}
