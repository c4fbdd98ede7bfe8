package dev.warmpath.router.routing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.util.unit.DataSize;

class RoutingPropertiesTest {

    private static final RoutingProperties.WeightProperties WEIGHTS =
            new RoutingProperties.WeightProperties(1, 512, 1, 0.5, 2_048);
    private static final DataSize NO_BYTES = DataSize.ofBytes(0);

    @Test
    void our_own_rule_decides_on_everything_unless_set_otherwise() {
        PolicyPlan plan = RoutingConfiguration.plan(bound(Map.of()));

        assertThat(plan.policy()).isInstanceOf(ExpectedFirstToken.class);
        assertThat(plan.share()).isZero();
        assertThat(plan.sharePolicy()).isNull();
        assertThat(plan.shadow()).isNull();
    }

    @Test
    void every_policy_is_made_by_its_name() {
        for (PolicyName name : PolicyName.values()) {
            PolicyPlan plan = RoutingConfiguration.plan(bound(Map.of("policy", name.text(), "shadow", name.text())));
            assertThat(plan.policy().name()).isEqualTo(name);
            assertThat(Objects.requireNonNull(plan.shadow()).name()).isEqualTo(name);
            assertThat(plan.shadow()).as("what it remembers is its own").isNotSameAs(plan.policy());
        }
        assertThat(Arrays.stream(PolicyName.values()).map(PolicyName::text)).doesNotHaveDuplicates()
                .contains("expected-first-token", "llm-d-prefix-scorer", "sglang-cache-aware");
    }

    @Test
    void a_share_without_a_policy_for_it_stops_the_start() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new RoutingProperties(PolicyName.LMETRIC, null, 0.1, null, WEIGHTS, NO_BYTES))
                .withMessage("warmpath.routing.share is 0.1, and warmpath.routing.share-policy does not say which"
                        + " policy is to decide on it");
    }

    @Test
    void one_policy_is_not_compared_with_itself() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new RoutingProperties(PolicyName.LMETRIC, null, 0.1, PolicyName.LMETRIC,
                        WEIGHTS, NO_BYTES))
                .withMessage("warmpath.routing.share-policy is lmetric, as warmpath.routing.policy is: there would be"
                        + " nothing to compare");
    }

    @Test
    void weights_that_are_not_set_are_the_defaults() {
        assertThat(bound(Map.of()).weights().toRoutingWeights()).isEqualTo(RoutingWeights.DEFAULT);
        assertThat(bound(Map.of("weights.stream", "2", "weights.queued-request", "0.5")).weights().toRoutingWeights())
                .isEqualTo(new RoutingWeights(0.5, 512, 1, 2, 2_048));
    }

    private static RoutingProperties bound(Map<String, String> settings) {
        var source = new MapConfigurationPropertySource();
        settings.forEach((name, value) -> source.put("warmpath.routing." + name, value));
        return new Binder(source).bindOrCreate("warmpath.routing", RoutingProperties.class);
    }
}
