package dev.warmpath.router.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The operator's page against the enum, by the names and labels that Prometheus sees. */
class DocumentedMetersTest {

    private static final String TABLE = "| meter (router) | meaning |";
    private static final Pattern NAME = Pattern.compile("`(warmpath_[a-z_]+)(?:\\{([a-z,]+)})?`");

    @Test
    void the_page_names_every_meter_of_the_router_with_its_labels() throws IOException {
        Map<String, String> documented = new TreeMap<>();
        Files.readAllLines(Path.of("../docs/operations.md")).stream()
                .dropWhile(line -> !line.equals(TABLE)).skip(2).takeWhile(line -> line.startsWith("|"))
                .filter(line -> !line.contains("(router and worker)"))
                .forEach(row -> NAME.matcher(row.split(" \\| ")[0]).results().forEach(
                        each -> documented.put(each.group(1), each.group(2) == null ? "" : each.group(2))));

        assertThat(documented).isEqualTo(Arrays.stream(RouterMeter.values()).collect(
                Collectors.toMap(DocumentedMetersTest::exposed, meter -> String.join(",", meter.tagKeys()),
                        (one, _) -> one, TreeMap::new)));
    }

    @Test
    void every_meter_has_its_own_name_and_a_description() {
        assertThat(Arrays.stream(RouterMeter.values()).map(RouterMeter::meterName)).doesNotHaveDuplicates()
                .allMatch(name -> name.matches("warmpath(\\.[a-z]+)+"));
        assertThat(Arrays.stream(RouterMeter.values()).map(RouterMeter::description)).doesNotContain("");
    }

    /** The meter alone in a registry, as it is scraped. */
    private static String exposed(RouterMeter meter) {
        var registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        var metrics = new RouterMetrics(registry);
        registry.clear();
        String[] tags = meter.tagKeys().stream().flatMap(key -> List.of(key, "x").stream()).toArray(String[]::new);
        switch (meter.kind()) {
            case GAUGE -> metrics.watch(meter, () -> 1, tags);
            case COUNTER -> metrics.counter(meter, tags);
            case TIMER, LATENCY -> metrics.timer(meter, tags);
            case TOKENS -> metrics.summary(meter, tags);
        }
        List<String> names = registry.scrape().lines().filter(line -> line.startsWith("# TYPE "))
                .map(line -> line.split(" ")[2]).filter(name -> !name.endsWith("_max")).toList();
        assertThat(names).hasSize(1);
        return names.getFirst();
    }
}
