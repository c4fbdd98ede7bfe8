package dev.warmpath.chart;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.api.model.autoscaling.v2.HorizontalPodAutoscaler;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Workers that come and go with the load: what is asked for it, and what that finds. */
class AutoscalingTest {

    private static final String WORKER = "demo-warmpath-worker-";
    private static final Path OPERATIONS = Path.of("../docs/operations.md");
    private static final Path DAY_2 = Path.of("../docs/day-2.md");

    /** A release with two entries whose names begin alike; of the model "m" 10 in 100 wait for longer than 0.25 s. */
    private static final List<String> LOAD = List.of(
            "warmpath_queue_wait_seconds_bucket{" + router("m") + ",le=\"0.25\"} 0+90x10",
            "warmpath_queue_wait_seconds_bucket{" + router("m") + ",le=\"0.5\"} 0+100x10",
            "warmpath_queue_wait_seconds_bucket{" + router("m") + ",le=\"+Inf\"} 0+100x10",
            "warmpath_queue_wait_seconds_bucket{" + router("other") + ",le=\"0.25\"} 0+1000x10",
            "warmpath_queue_wait_seconds_bucket{" + router("other") + ",le=\"+Inf\"} 0+1000x10",
            "warmpath_queue_wait_seconds_bucket{" + router("idle") + ",le=\"0.25\"} 9x10",
            "warmpath_queue_wait_seconds_bucket{" + router("idle") + ",le=\"+Inf\"} 9x10",
            "warmpath_requests_total{" + router("m") + ",outcome=\"answered\"} 0+60x10",
            "warmpath_requests_total{" + router("m") + ",outcome=\"overloaded\"} 0+20x10",
            "warmpath_requests_total{" + router("other") + ",outcome=\"answered\"} 0+1000x10",
            "warmpath_requests_total{" + router("idle") + ",outcome=\"answered\"} 9x10",
            "warmpath_kv_usage_ratio{namespace=\"llm\",pod=\"" + WORKER + "small-7d9c8f6b5-x2b4z\"} 0.5x10",
            "warmpath_kv_usage_ratio{namespace=\"llm\",pod=\"" + WORKER + "small-7d9c8f6b5-9k8mq\"} 0.25x10",
            "warmpath_kv_usage_ratio{namespace=\"llm\",pod=\"" + WORKER + "small-fp8-6c5d7f8b9-x2b4z\"} 1x10",
            "warmpath_kv_usage_ratio{namespace=\"other\",pod=\"" + WORKER + "small-7d9c8f6b5-abcde\"} 1x10");

    @Test
    void what_is_scaled_by_load_keeps_as_many_replicas_as_run_and_says_no_number_where_nobody_knows_one() {
        String values = """
            workers:
              - {name: a, replicas: 2, autoscaling: {mode: hpa}}
              - {name: b, autoscaling: {mode: keda}}
              - {name: c, autoscaling: {mode: keda, minReplicas: 3}}
              - {name: d, replicas: 5}
            """;
        Rendered upgrade =
                Chart.render(values, Map.of(), Map.of(WORKER + "a", 8, WORKER + "b", 12, WORKER + "d", 9));
        Rendered withoutCluster = Chart.render(values);

        assertThat(replicas(upgrade, "a")).isEqualTo(8);
        assertThat(replicas(upgrade, "b")).isEqualTo(12);
        assertThat(replicas(upgrade, "c")).as("none yet").isNull();
        assertThat(replicas(upgrade, "d")).as("not scaled by load").isEqualTo(5);
        assertThat(replicas(withoutCluster, "a")).isNull();
        assertThat(replicas(withoutCluster, "d")).isEqualTo(5);
    }

    private static @Nullable Integer replicas(Rendered rendered, String entry) {
        return rendered.one(Deployment.class, WORKER + entry).getSpec().getReplicas();
    }

    @Test
    void kedas_queries_find_the_models_wait_in_the_routers_its_refusals_and_the_entrys_own_workers(@TempDir Path folder)
            throws Exception {
        Rendered rendered = keda();

        assertFinds(folder, Map.of(
                queries(rendered, "small").get(0), 0.375,
                queries(rendered, "small").get(1), 0.25,
                queries(rendered, "small").get(2), 0.75,
                queries(rendered, "small-fp8").get(2), 1.0,
                queries(rendered, "idle").get(0), 0.0,
                queries(rendered, "idle").get(1), 0.0,
                queries(rendered, "unseen").get(0), 0.0,
                queries(rendered, "unseen").get(1), 0.0));
    }

    @Test
    void an_adapters_documented_rules_find_the_same_under_the_names_that_the_hpa_asks_for(@TempDir Path folder)
            throws Exception {
        String values = "workers: [{name: a, model: {name: m}, autoscaling: {mode: hpa}}]";
        HorizontalPodAutoscaler scaler = Chart.render(values)
                .one(HorizontalPodAutoscaler.class, WORKER + "a");
        JsonNode adapter = documentedAdapter();

        assertThat(scaler.getSpec().getMetrics().stream()
                        .filter(metric -> metric.getExternal() != null)
                        .map(metric -> metric.getExternal().getMetric().getName() + " "
                                + metric.getExternal().getMetric().getSelector().getMatchLabels()))
                .containsExactly("warmpath_queue_wait_p95_seconds {model=m}", "warmpath_refused_ratio {model=m}");
        assertThat(adapter.get("externalRules").findValuesAsText("as"))
                .containsExactly("warmpath_queue_wait_p95_seconds", "warmpath_refused_ratio");
        assertThat(adapter.get("rules").findValuesAsText("seriesQuery")).singleElement().asString()
                .startsWith(scaler.getSpec().getMetrics().get(2).getPods().getMetric().getName() + "{");
        assertFinds(folder, Map.of(
                asked(adapter.at("/externalRules/0")), 0.375,
                asked(adapter.at("/externalRules/1")), 0.25));
    }

    @Test
    void every_meter_that_is_asked_is_documented() throws IOException {
        String documented = Files.readString(OPERATIONS);

        assertThat(queries(keda(), "small").stream()
                        .flatMap(query -> Pattern.compile("warmpath_\\w+").matcher(query).results())
                        .map(found -> found.group().replace("_bucket", "")))
                .hasSize(4)
                .allSatisfy(meter -> assertThat(documented).contains("`" + meter));
    }

    /** As Kubernetes makes names of a Deployment's pods: cut at 58 characters, then five of their own. */
    @Test
    void pods_are_found_however_long_their_names_are() {
        for (String entry : List.of("a", "twelve-chars", "exactly-twenty-chars")) {
            for (String release : List.of("f", "a".repeat(29), "a".repeat(34))) {
                Rendered rendered = Chart.render("fullnameOverride: " + release + "\nworkers: [{name: " + entry
                        + ", autoscaling: {mode: keda}}]");
                String pods = queries(rendered.all(ScaledObject.class).getFirst()).get(2).replaceAll(".*pod=~\"(.*)\".*", "$1");
                for (String digest : List.of("7d9c8f6b5", "7d9c8f6b5d")) {
                    String name = release + "-worker-" + entry + "-" + digest + "-";
                    assertThat(name.substring(0, Math.min(58, name.length())) + "x2b4z").matches(pods);
                }
            }
        }
    }

    private static Rendered keda() {
        return Chart.render("""
            workerDefaults: {autoscaling: {mode: keda}}
            workers:
              - {name: small, model: {name: m}}
              - {name: small-fp8, model: {name: m}}
              - {name: idle, model: {name: idle}}
              - {name: unseen, model: {name: unseen}}
            """);
    }

    private static List<String> queries(Rendered rendered, String entry) {
        return queries(rendered.one(ScaledObject.class, WORKER + entry));
    }

    private static List<String> queries(ScaledObject scaler) {
        return scaler.spec.triggers().stream()
                .map(trigger -> String.valueOf(trigger.metadata().get("query")))
                .toList();
    }

    private static String router(String model) {
        return "namespace=\"llm\",pod=\"demo-warmpath-router-5f7b9c6d4-abcde\",model=\"" + model + "\"";
    }

    private static JsonNode documentedAdapter() throws IOException {
        String block = Files.readString(DAY_2).replaceAll("(?s).*```yaml\n(externalRules:.*?)```.*", "$1");
        return new ObjectMapper(new YAMLFactory()).readTree(block);
    }

    /** What prometheus-adapter asks for the model "m" in the namespace "llm". */
    private static String asked(JsonNode rule) {
        return rule.get("metricsQuery").asText()
                .replace("<<.Series>>", rule.get("seriesQuery").asText().replaceAll("\\{.*", ""))
                .replace("<<.LabelMatchers>>", "namespace=\"llm\",model=\"m\"");
    }

    /** Each query's one value after five minutes of the load above; rounding takes away how rates are summed up. */
    private static void assertFinds(Path folder, Map<String, Double> values) throws Exception {
        List<Object> expected = new ArrayList<>();
        values.forEach((query, value) -> expected.add(Map.of(
                "expr", "sum(round(" + query + ", 0.125))",
                "eval_time", "5m",
                "exp_samples", List.of(Map.of("labels", "{}", "value", value)))));
        Stream<Map<String, String>> series = LOAD.stream()
                .map(line -> Map.of(
                        "series", line.substring(0, line.indexOf(' ')),
                        "values", line.substring(line.indexOf(' ') + 1)));
        Promtool.test(folder, Map.of("tests", List.of(Map.of(
                "interval", "1m",
                "input_series", series.toList(),
                "promql_expr_test", expected))));
    }
}
