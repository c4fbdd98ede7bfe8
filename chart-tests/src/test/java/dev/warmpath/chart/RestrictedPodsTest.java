package dev.warmpath.chart;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.PodTemplateSpec;
import org.junit.jupiter.api.Test;

/** That the check finds what it is for. */
class RestrictedPodsTest {

    @Test
    void a_pod_that_says_nothing_would_be_refused_for_the_four_reasons_of_the_standard_and_for_ours() {
        Rendered careless = Rendered.of("""
            {apiVersion: v1, kind: Pod, metadata: {name: a, labels: {}}, spec: {containers: [{name: c, image: i}]}}
            """);

        assertThat(RestrictedPods.faults(careless.pods().getFirst().getSpec()))
                .containsExactlyInAnyOrder(
                        "c: allowPrivilegeEscalation is not false",
                        "c: capabilities do not drop ALL",
                        "c: runAsNonRoot is not true",
                        "c: seccompProfile",
                        "another user",
                        "a token of the API server is mounted",
                        "enableServiceLinks",
                        "c: a writable root",
                        "c: no memory limit",
                        "c: writes to []");
    }

    @Test
    void a_step_back_of_a_pod_that_is_well_is_seen() {
        PodTemplateSpec router = Chart.withoutValues().pods().getFirst();
        assertThat(RestrictedPods.faults(router.getSpec())).isEmpty();

        router.getSpec().setHostNetwork(true);
        router.getSpec().getContainers().getFirst().getSecurityContext().setPrivileged(true);
        router.getSpec().getSecurityContext().setRunAsUser(0L);

        assertThat(RestrictedPods.faults(router.getSpec()))
                .containsExactlyInAnyOrder("host namespaces", "router: privileged", "runAsUser 0", "another user");
    }
}
