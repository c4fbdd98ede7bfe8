package dev.warmpath.chart;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.networking.v1.Ingress;
import io.fabric8.openshift.api.model.monitoring.v1.PrometheusRule;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What the chart makes of the examples is kept beside them, so that a change of the chart shows what it changes. */
class ExamplesTest {

    /** In place of what an install draws at random. */
    private static final String DRAWN = "drawn-at-the-first-install";

    private static final Map<String, Map<String, String>> SECRETS = Map.of(
            "demo-warmpath-tokens", Map.of("fleet-token", DRAWN, "management-token", DRAWN),
            "demo-warmpath-operator-key", Map.of("operator-key", "wp-" + DRAWN),
            "demo-warmpath-redis", Map.of("router-password", DRAWN, "worker-password", DRAWN));
    /** What the examples say is made elsewhere. */
    private static final Set<String> FOREIGN_SECRETS =
            Set.of("warmpath-tokens", "warmpath-api-keys", "warmpath-redis", "redis-ca", "model-hub");

    static Stream<String> examples() throws IOException {
        try (Stream<Path> directories = Files.list(Chart.EXAMPLES)) {
            return directories.map(directory -> directory.getFileName().toString()).sorted().toList().stream();
        }
    }

    @Test
    void there_are_four() throws IOException {
        assertThat(examples()).containsExactly("cpu-demo", "eight-vllm", "one-h200-node", "production");
    }

    @ParameterizedTest
    @MethodSource("examples")
    void an_example_is_rendered_as_it_is_kept(String name) throws IOException {
        Rendered rendered = render(name);
        Path kept = Chart.EXAMPLES.resolve(name).resolve("rendered.yaml");
        String text = rendered.text().lines().map(String::stripTrailing).reduce("", (all, line) -> all + line + "\n");
        if (Renewal.IS_WANTED) {
            Files.writeString(kept, text);
            return;
        }

        assertThat(text).as(kept + "; " + Renewal.HOW).isEqualTo(Files.readString(kept));
    }

    @ParameterizedTest
    @MethodSource("examples")
    void an_example_would_be_admitted_and_leads_nowhere_wrong(String name) throws IOException {
        Rendered rendered = render(name);

        assertThat(rendered.pods())
                .allSatisfy(
                        pod -> assertThat(RestrictedPods.faults(pod.getSpec())).isEmpty());
        assertThat(References.faults(rendered, FOREIGN_SECRETS)).isEqualTo(List.of());
        assertThat(Environment.unknown(rendered)).isEmpty();
    }

    @Test
    void what_a_router_takes_its_ingress_lets_through_and_alerts_lead_to_a_page() throws IOException {
        Rendered production = render("production");

        assertThat(production.env("demo-warmpath-router", "WARMPATH_OPENAI_MAXBODY")).isEqualTo("32MB");
        assertThat(production.all(Ingress.class)).singleElement().satisfies(ingress ->
                assertThat(ingress.getMetadata().getAnnotations())
                        .containsEntry("nginx.ingress.kubernetes.io/proxy-body-size", "32m")
                        .containsEntry("nginx.ingress.kubernetes.io/proxy-buffering", "off"));
        for (String name : List.of("production", "one-h200-node")) {
            assertThat(render(name).all(PrometheusRule.class).stream()
                            .flatMap(rules -> rules.getSpec().getGroups().stream())
                            .flatMap(group -> group.getRules().stream())
                            .filter(rule -> rule.getAlert() != null))
                    .isNotEmpty()
                    .allSatisfy(alert -> assertThat(alert.getAnnotations().get("runbook_url")).startsWith("https://"));
        }
    }

    private static Rendered render(String name) throws IOException {
        return Chart.render(Files.readString(Chart.EXAMPLES.resolve(name).resolve("values.yaml")), SECRETS);
    }
}
