package dev.warmpath.chart;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.openshift.api.model.monitoring.v1.PodMetricsEndpoint;
import io.fabric8.openshift.api.model.monitoring.v1.PodMonitor;
import io.fabric8.openshift.api.model.monitoring.v1.PrometheusRule;
import io.fabric8.openshift.api.model.monitoring.v1.RelabelConfig;
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
    void each_dashboard_is_a_config_map_that_the_sidecar_finds() throws IOException {
        List<ConfigMap> dashboards = Chart.render("monitoring: {dashboards: true}").all(ConfigMap.class);

        assertThat(dashboards).hasSameSizeAs(files("dashboards", ".json")).isNotEmpty().allSatisfy(dashboard -> {
            assertThat(dashboard.getMetadata().getLabels()).containsEntry("grafana_dashboard", "1");
            assertThat(dashboard.getData()).hasSize(1);
            assertThat(dashboard.getData().values()).first().asString().startsWith("{").contains("\"uid\":\"warmpath-");
        });
    }

    @Test
    void monitors_give_processes_the_names_of_their_pods_and_the_jobs_that_alerts_and_dashboards_ask_for() {
        Rendered rendered = Chart.render("monitoring: {serviceMonitor: true, podMonitor: true, vllmNames: true}");

        assertThat(rendered.all(ServiceMonitor.class)).singleElement().satisfies(monitor ->
                assertThat(monitor.getSpec().getEndpoints()).hasSize(1).allSatisfy(endpoint ->
                        assertRelabelled(endpoint.getRelabelings(), "warmpath-router")));
        assertThat(rendered.all(PodMonitor.class)).singleElement().satisfies(monitor ->
                assertThat(monitor.getSpec().getPodMetricsEndpoints()).hasSize(2).allSatisfy(endpoint ->
                        assertRelabelled(endpoint.getRelabelings(), "warmpath-worker")));
    }

    @Test
    void pages_are_scraped_where_they_are() {
        String engine = "model: {name: m, source: pvc, claim: c}, "
                + "engine: {kind: vllm, image: {repository: v, tag: v1}}";
        String both = "monitoring: {podMonitor: true, vllmNames: true, engines: true}\n";
        String mixed = both + "workers: [{name: a}, {name: b}, {name: e, " + engine + "}]";

        assertThat(endpoints(mixed)).extracting(PodMetricsEndpoint::getPort)
                .containsExactly("management", "http", "engine");
        assertThat(endpoints(mixed).get(1).getRelabelings()).anySatisfy(relabeling -> {
            assertThat(relabeling.getAction()).isEqualTo("keep");
            assertThat(relabeling.getSourceLabels())
                    .containsExactly("__meta_kubernetes_pod_label_warmpath_dev_worker");
            assertThat(relabeling.getRegex()).isEqualTo("a|b");
        });
        assertRelabelled(endpoints(mixed).get(2).getRelabelings(), "warmpath-engine");
        assertThat(endpoints(both)).extracting(PodMetricsEndpoint::getPort).containsExactly("management", "http");
        assertThat(endpoints(both + "workers: [{name: e, " + engine + "}]")).extracting(PodMetricsEndpoint::getPort)
                .containsExactly("management", "engine");
    }

    private static List<PodMetricsEndpoint> endpoints(String values) {
        return Chart.render(values).all(PodMonitor.class).getFirst().getSpec().getPodMetricsEndpoints();
    }

    private static void assertRelabelled(List<RelabelConfig> relabelings, String job) {
        assertThat(relabelings).anySatisfy(relabeling -> {
            assertThat(relabeling.getTargetLabel()).isEqualTo("job");
            assertThat(relabeling.getReplacement()).isEqualTo(job);
        }).anySatisfy(relabeling -> {
            assertThat(relabeling.getTargetLabel()).isEqualTo("instance");
            assertThat(relabeling.getSourceLabels()).containsExactly("__meta_kubernetes_pod_name");
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
