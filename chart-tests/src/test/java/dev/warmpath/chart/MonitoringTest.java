package dev.warmpath.chart;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.openshift.api.model.monitoring.v1.Endpoint;
import io.fabric8.openshift.api.model.monitoring.v1.PodMetricsEndpoint;
import io.fabric8.openshift.api.model.monitoring.v1.PodMonitor;
import io.fabric8.openshift.api.model.monitoring.v1.PrometheusRule;
import io.fabric8.openshift.api.model.monitoring.v1.RuleGroup;
import io.fabric8.openshift.api.model.monitoring.v1.ServiceMonitor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Alerts and dashboards have one source, the files beside the templates, whatever lies there. */
class MonitoringTest {

    @Test
    void each_file_of_rules_is_an_object_with_links_to_the_operators_runbooks() throws IOException {
        Rendered rendered = 
                Chart.render("monitoring: {rules: true, labels: {release: p}, runbooks: 'https://git/runbooks.md'}");

        List<PrometheusRule> rules = rendered.all(PrometheusRule.class);
        assertThat(rules).hasSameSizeAs(files("rules", ".yaml")).isNotEmpty().allSatisfy(rule -> {
            assertThat(rule.getMetadata().getLabels()).containsEntry("release", "p");
            assertThat(rule.getSpec().getGroups()).extracting(RuleGroup::getName).isNotEmpty();
        });
        assertThat(rules.stream().flatMap(rule -> rule.getSpec().getGroups().stream())
                        .flatMap(group -> group.getRules().stream())
                        .filter(rule -> rule.getAlert() != null && rule.getAlert().startsWith("Warmpath")))
                .isNotEmpty()
                .allSatisfy(alert -> assertThat(alert.getAnnotations().get("runbook_url"))
                        .isEqualTo("https://git/runbooks.md#" + alert.getAlert().toLowerCase(Locale.ROOT)));
        // what Prometheus fills in is not the chart's to fill in
        assertThat(rendered.text()).contains("{{ $value");
    }

    @Test
    void processes_are_told_apart_by_the_names_of_their_pods() {
        Rendered rendered = Chart.render("monitoring: {serviceMonitor: true, podMonitor: true, vllmNames: true}");

        var relabelings = Stream.concat(
                        rendered.all(ServiceMonitor.class).stream()
                                .flatMap(monitor -> monitor.getSpec().getEndpoints().stream())
                                .map(Endpoint::getRelabelings),
                        rendered.all(PodMonitor.class).stream()
                                .flatMap(monitor -> monitor.getSpec().getPodMetricsEndpoints().stream())
                                .map(PodMetricsEndpoint::getRelabelings))
                .toList();
        assertThat(relabelings).hasSize(3).allSatisfy(rules -> assertThat(rules).singleElement().satisfies(rule -> {
            assertThat(rule.getSourceLabels()).containsExactly("__meta_kubernetes_pod_name");
            assertThat(rule.getTargetLabel()).isEqualTo("instance");
        }));
    }

    @Test
    void each_dashboard_is_a_config_map_that_the_sidecar_finds() throws IOException {
        List<ConfigMap> dashboards = Chart.render("monitoring: {dashboards: true}").all(ConfigMap.class);

        assertThat(dashboards).hasSameSizeAs(files("dashboards", ".json")).allSatisfy(dashboard -> {
            assertThat(dashboard.getMetadata().getLabels()).containsEntry("grafana_dashboard", "1");
            assertThat(dashboard.getData()).hasSize(1);
        });
    }

    @Test
    void neither_is_there_unless_wanted() {
        assertThat(Chart.withoutValues().all(PrometheusRule.class)).isEmpty();
        assertThat(Chart.withoutValues().all(ConfigMap.class)).isEmpty();
    }

    private static List<Path> files(String folder, String ending) throws IOException {
        Path directory = Chart.DIRECTORY.resolve("files").resolve(folder);
        if (!Files.isDirectory(directory)) {
            return List.of();
        }
        try (Stream<Path> files = Files.list(directory)) {
            return files.filter(file -> file.toString().endsWith(ending)).toList();
        }
    }
}
