package dev.warmpath.chart;

import static org.assertj.core.api.Assertions.assertThat;

import com.marcnuri.helm.Helm;
import com.marcnuri.helm.LintResult;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Service;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import org.junit.jupiter.api.Test;

/** What nobody has to say. */
class DefaultInstallTest {

    private final Rendered rendered = Chart.withoutValues();

    @Test
    void strict_lint_finds_nothing() {
        LintResult lint = new Helm(Chart.DIRECTORY).lint().strict().call();

        assertThat(lint.isFailed())
                .as(() -> String.join("\n", lint.getMessages()))
                .isFalse();
        assertThat(lint.getMessages())
                .noneMatch(message -> message.contains("[WARNING]") || message.contains("[ERROR]"));
    }

    @Test
    void a_test_that_went_well_leaves_no_pod_and_pods_of_a_roll_out_are_spread_among_themselves() {
        assertThat(rendered.one(Pod.class, "demo-warmpath-test").getMetadata().getAnnotations())
                .containsEntry("helm.sh/hook-delete-policy", "before-hook-creation,hook-succeeded");
        assertThat(rendered.all(Deployment.class)).allSatisfy(deployment -> assertThat(
                        deployment.getSpec().getTemplate().getSpec().getTopologySpreadConstraints())
                .singleElement()
                .satisfies(spread -> assertThat(spread.getMatchLabelKeys()).containsExactly("pod-template-hash")));
    }

    @Test
    void without_values_it_is_one_router_and_two_workers_on_processors_that_need_no_custom_resource() {
        assertThat(rendered.names(Deployment.class))
                .containsExactly("demo-warmpath-router", "demo-warmpath-worker-tiny");
        assertThat(rendered.names(Service.class)).containsExactly("demo-warmpath", "demo-warmpath-registration");
        assertThat(rendered.one(Deployment.class, "demo-warmpath-router")
                        .getSpec()
                        .getReplicas())
                .isEqualTo(1);
        assertThat(rendered.one(Deployment.class, "demo-warmpath-worker-tiny")
                        .getSpec()
                        .getReplicas())
                .isEqualTo(2);
        assertThat(rendered.env("demo-warmpath-worker-tiny", "WARMPATH_COMPUTE_BACKEND"))
                .isEqualTo("vector");
        assertThat(rendered.objects())
                .extracting(HasMetadata::getApiVersion)
                .containsOnly("v1", "apps/v1", "policy/v1", "networking.k8s.io/v1");
    }
}
