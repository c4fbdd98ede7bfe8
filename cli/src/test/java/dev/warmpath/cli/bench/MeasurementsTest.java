package dev.warmpath.cli.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.cli.bench.BenchReport.Results;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import picocli.CommandLine.TypeConversionException;

/** Times are in milliseconds from the run's begin. */
class MeasurementsTest {

    private static final long MS = 1_000_000;

    @Test
    void percentiles_are_of_the_times_from_when_a_request_was_due() {
        var measurements = new Measurements(null);
        for (int i = 1; i <= 100; i++) {
            measurements.answered(answer(/* first */ 1_000 + i, /* last */ 1_000 + i, /* end */ 1_200, 1), 1_000 * MS);
        }
        BenchReport.Millis ttft = measurements.results().ttftMs();

        assertThat(ttft).isNotNull();
        assertThat(ttft.p50()).isBetween(50.0, 50.1);
        assertThat(ttft.p90()).isBetween(90.0, 90.1);
        assertThat(ttft.p99()).isBetween(99.0, 99.1);
        assertThat(ttft.max()).isBetween(100.0, 100.1);
        assertThat(ttft.mean()).isBetween(50.5, 50.6);
    }

    @Test
    void what_the_bench_was_late_by_counts_against_the_server_and_is_told() {
        var measurements = new Measurements(null);
        measurements.sent(/* due */ 0, /* sent */ 20 * MS);
        measurements.answered(answer(30, 30, 40, 1), /* due */ 0);
        Results results = measurements.results();

        assertThat(results.ttftMs()).isNotNull();
        assertThat(results.ttftMs().max()).isBetween(30.0, 30.1);
        assertThat(results.lateMs()).isNotNull();
        assertThat(results.lateMs().max()).isBetween(20.0, 20.1);
    }

    @Test
    void a_bench_that_sends_more_slowly_than_requests_are_due_says_which_share_of_the_rate_it_kept() {
        var measurements = new Measurements(null);
        for (int i = 0; i <= 10; i++) {
            measurements.due(i * 100 * MS);                                // 10 in a second
            measurements.sent(i * 100 * MS, i * 200 * MS);                 // 5 in a second
            measurements.answered(answer(3_000, 3_000, 3_000, 1), i * 100 * MS);
        }

        assertThat(measurements.results().pace()).isEqualTo(new BenchReport.PaceKept(10, 5, 0.5));
        assertThat(page(measurements)).contains("pace          10.00 requests/s were due, 5.00 were sent, late by"
                + " 500.2 ms (p50), 1,000 ms (p99)")
                .anyMatch(line -> line.startsWith("warning       only 50 % of the wanted rate was sent"));
    }

    @Test
    void requests_that_are_never_sent_are_not_of_the_rate_that_was_achieved() {
        var measurements = new Measurements(null);
        for (int i = 0; i <= 10; i++) {
            measurements.due(i * 100 * MS);
        }
        for (int i = 0; i <= 9; i++) {
            measurements.sent(i * 100 * MS, i * 100 * MS);                 // and the last one not
        }

        assertThat(measurements.results().pace()).isEqualTo(new BenchReport.PaceKept(10, 9, 0.9));
        assertThat(page(measurements)).noneMatch(line -> line.startsWith("warning"));
    }

    private static List<String> page(Measurements measurements) {
        return BenchPage.lines(new BenchReport("http://server", "small", "random", 1, "ids", 0, 1, null, 10.0, null,
                false, measurements.results()), null, 100);
    }

    @Test
    void goodput_counts_answers_that_keep_all_limits_over_all_that_were_sent() throws Exception {
        Slo slo = new Slo.Converter().convert("ttft=100ms,itl=10ms");
        var measurements = new Measurements(slo);
        measurements.answered(answer(100, 200, 300, 11), 0);            // 100 ms, then 10 of 10 ms: just kept
        measurements.answered(answer(101, 102, 300, 2), 0);             // first token too late
        measurements.answered(answer(50, 161, 300, 11), 0);             // 11.1 ms a token
        measurements.failed(RequestFailedException.http(503, "full"), 0, 500 * MS);
        BenchReport.Goodput goodput = measurements.results().goodput();

        assertThat(goodput).isEqualTo(new BenchReport.Goodput(slo, /* one in half a second */ 2.0, 0.25));
    }

    @Test
    void rates_are_over_the_span_from_the_first_start_to_the_last_end() {
        var measurements = new Measurements(null);
        measurements.answered(answer(1_100, 1_200, 1_500, 20), 1_000 * MS);
        measurements.answered(answer(2_100, 2_200, 3_000, 40), 2_000 * MS);
        Results results = measurements.results();

        assertThat(results.seconds()).isEqualTo(2.0);
        assertThat(results.requestsPerSecond()).isEqualTo(1.0);
        assertThat(results.completionTokensPerSecond()).isEqualTo(30.0);
    }

    @Test
    void a_run_without_an_answer_has_no_times_and_divides_by_nothing() {
        Results results = new Measurements(null).results();

        assertThat(results.ttftMs()).isNull();
        assertThat(results.hitRate()).isNull();
        assertThat(results.requestsPerSecond()).isZero();
        assertThat(results.errors()).isEqualTo(Map.of());
    }

    @Test
    void a_server_that_invents_names_does_not_fill_the_memory() {
        var measurements = new Measurements(null);
        for (int i = 0; i < 1_000; i++) {
            measurements.answered(new Answer(1, 1, 1, new long[0], 1, 0, 1, "", new int[0], "worker-" + i), 0);
        }
        assertThat(measurements.results().workers()).hasSize(257).containsEntry("others", 744L);
    }

    @Test
    void limits_are_read_with_their_units_and_nothing_else_is() throws Exception {
        assertThat(new Slo.Converter().convert("ttft=0.2s, e2e=5000")).isEqualTo(new Slo(200.0, null, 5_000.0));
        assertThatThrownBy(() -> new Slo.Converter().convert("ttft=fast")).isInstanceOf(TypeConversionException.class)
                .hasMessage("'ttft=fast' is none of ttft=200ms, itl=50ms, e2e=5s");
    }

    private static Answer answer(long firstMs, long lastMs, long endMs, int tokens) {
        return new Answer(firstMs * MS, lastMs * MS, endMs * MS, new long[0], 10, 5, tokens, "", new int[0], null);
    }
}
