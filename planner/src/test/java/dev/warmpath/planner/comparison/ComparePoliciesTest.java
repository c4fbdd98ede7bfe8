package dev.warmpath.planner.comparison;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.warmpath.planner.simulation.Policies;
import dev.warmpath.planner.simulation.Report;
import dev.warmpath.router.routing.PolicyName;
import dev.warmpath.workload.GeneratedLoad;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** benchmarks/results/routing-quality.md has the whole table. */
class ComparePoliciesTest {

    @Test
    void every_policy_that_can_be_set_is_compared() {
        assertThat(Policies.all()).containsOnlyKeys(PolicyName.values());
    }

    @Test
    void ours_is_no_worse_than_any_on_400_tenants_whose_prompts_a_third_of_the_cache_holds() throws Exception {
        var scenario = Scenario.of(GeneratedLoad.TENANTS, 6_000, /* workers */ 8, 0.3, 0.7, /* seed */ 1);
        assertThat(scenario.pooledHit()).isCloseTo(0.82, within(0.01));

        Map<PolicyName, Report> reports = ComparePolicies.run(scenario);

        assertThat(ComparePolicies.oursOverBest(reports)).isLessThanOrEqualTo(1.02);
        assertThat(reports.get(PolicyName.EXPECTED_FIRST_TOKEN).hitRate()).isCloseTo(0.81, within(0.02));
        assertThat(reports.get(PolicyName.ROUND_ROBIN).isOverloaded()).as("what it computes again and again").isTrue();
    }

    @Test
    void sessions_a_second_keep_workers_as_busy_as_they_are_to_be() {
        var scenario = Scenario.of(GeneratedLoad.UNIQUE, 2_000, /* workers */ 4, 1, 0.5, /* seed */ 1);

        assertThat(scenario.pooledHit()).isZero();
        // 12 ms a step, 1,024 tokens of 105 us and half as many pairs of 2 ns, 128 answers' rows: about 130 ms a request
        double seconds = scenario.sessions().getLast().startMicros() / 1e6;
        assertThat(2_000 / seconds * 0.130 / 4).isCloseTo(0.5, within(0.05));
    }
}
