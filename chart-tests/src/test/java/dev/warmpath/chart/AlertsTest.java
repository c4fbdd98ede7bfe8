package dev.warmpath.chart;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The chart's alert rules: each fires on its fault, and somebody has written what to do then. */
class AlertsTest {

    private static final Path RULES = Path.of("../helm/warmpath/files/rules/warmpath.yaml").toAbsolutePath().normalize();
    private static final Path RUNBOOKS = Path.of("../docs/runbooks.md");
    private static final Path UNIT_TESTS = Path.of("src/test/resources/alerts.yaml");
    private static final Pattern ALERT = Pattern.compile("- alert: (\\w+)");

    @Test
    void every_alert_has_a_runbook_and_a_unit_test_and_every_runbook_an_alert() throws IOException {
        List<String> alerts = found(ALERT, RULES);

        assertThat(alerts).hasSizeGreaterThan(15).doesNotHaveDuplicates();
        assertThat(found(Pattern.compile("(?m)^## (\\w+)"), RUNBOOKS)).containsExactlyElementsOf(alerts);
        assertThat(found(Pattern.compile("- name: \"(\\w+): "), UNIT_TESTS)).containsAll(alerts);
        assertThat(found(Pattern.compile("runbook_url: docs/runbooks.md#(\\w+)"), RULES))
                .containsExactlyElementsOf(alerts.stream().map(String::toLowerCase).toList());
    }

    @Test
    void every_alert_fires_on_its_fault_and_none_for_a_fleet_that_is_well(@TempDir Path folder)
            throws IOException, InterruptedException {
        Path tests = folder.resolve("alerts.yaml");
        Files.writeString(tests, Files.readString(UNIT_TESTS).replace("[RULES]", "[\"" + RULES + "\"]"));

        assertThat(Promtool.run("check", "rules", RULES.toString())).contains("SUCCESS");
        assertThat(Promtool.run("test", "rules", tests.toString())).contains("SUCCESS").doesNotContain("FAILED");
    }

    private static List<String> found(Pattern pattern, Path file) throws IOException {
        return pattern.matcher(Files.readString(file)).results().map(match -> match.group(1)).toList();
    }
}
