package dev.warmpath.worker.metrics;

import static java.util.Map.entry;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.fleet.StepCost;
import dev.warmpath.worker.engine.EngineHistogram;
import dev.warmpath.worker.engine.EngineSnapshot;
import dev.warmpath.worker.histogram.Distribution;
import dev.warmpath.worker.histogram.Histogram;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Every sample of both scrape paths over one snapshot whose numbers all differ: none can stand in for another. */
class MeterValuesTest {

    private static final EngineSnapshot NOW = new EngineSnapshot(
            new EngineSnapshot.Load(/* running */ 3, /* waiting */ 5, /* forBlocks */ 1, /* pendingPromptTokens */ 701,
                    /* pendingRequests */ 6, List.of(), /* contextTokens */ 4_000, /* news */ 9),
            new EngineSnapshot.Pool(/* blockCount */ 1_000, /* freeBlocks */ 600, /* cachedBlocks */ 250,
                    /* allocatedSlots */ 6_400, /* unusedSlots */ 800),
            new EngineSnapshot.PrefixCache(/* queriedTokens */ 90_000, /* hitTokens */ 30_000,
                    /* queriedBlocks */ 5_500, /* hitBlocks */ 1_800, /* recentHitRate */ 0.75, /* collisions */ 2,
                    /* evictions */ 77, /* resets */ 4),
            new EngineSnapshot.Swap(/* blockCount */ 64, /* freeBlocks */ 21, /* outBlocks */ 110, /* inBlocks */ 31),
            new EngineSnapshot.Work(/* steps */ 12_345, /* stepNanos */ 6_700_000_000L, /* computedTokens */ 123_456,
                    /* generatedTokens */ 8_910, /* recomputePreemptions */ 13, /* swapPreemptions */ 9,
                    /* refusedGraphs */ 6), observed(), /* stepAgeNanos */ 0);
    private static final ServedModel MODEL = new ServedModel(
            "tiny", /* contextLength */ 4_096, Duration.ofMillis(2_500), 16, 1_001, null, 64,
            /* bytesPerBlock */ 49_152, "float32", 0.9, 1L << 30, true, "sha256_cbor");

    @Test
    void every_meter_of_the_worker_with_one_value_shows_its_own_number() {
        assertThat(onlySingle(worker())).containsExactlyInAnyOrderEntriesOf(Map.ofEntries(
                entry("warmpath_engine_running_sequences", 3.0),
                entry("warmpath_engine_waiting_sequences", 5.0),
                entry("warmpath_engine_waiting_for_blocks_sequences", 1.0),
                entry("warmpath_engine_step_cost_seconds{part=\"step\"}", 400 / 1e6),
                entry("warmpath_engine_step_cost_seconds{part=\"prompt_token\"}", 70 / 1e6),
                entry("warmpath_engine_step_cost_seconds{part=\"row\"}", 90 / 1e6),
                entry("warmpath_engine_step_cost_seconds{part=\"context_token\"}", 12.5 / 1e3 / 1e6),
                entry("warmpath_engine_requests_total{end=\"stop\"}", 201.0),
                entry("warmpath_engine_requests_total{end=\"length\"}", 202.0),
                entry("warmpath_engine_requests_total{end=\"cancelled\"}", 203.0),
                entry("warmpath_engine_requests_total{end=\"deadline_exceeded\"}", 305.0),
                entry("warmpath_engine_requests_total{end=\"engine_failure\"}", 306.0),
                entry("warmpath_engine_requests_total{end=\"unusable_logits\"}", 307.0),
                entry("warmpath_engine_requests_total{end=\"rules_leave_nothing\"}", 308.0),
                entry("warmpath_engine_refused_requests_total{reason=\"invalid_request\"}", 400.0),
                entry("warmpath_engine_refused_requests_total{reason=\"unsupported\"}", 401.0),
                entry("warmpath_engine_refused_requests_total{reason=\"wrong_epoch\"}", 402.0),
                entry("warmpath_engine_refused_requests_total{reason=\"queue_full\"}", 403.0),
                entry("warmpath_engine_refused_requests_total{reason=\"shutting_down\"}", 404.0),
                entry("warmpath_model_load_seconds", 2.5),
                entry("warmpath_engine_graphs_refused_total", 6.0),
                entry("warmpath_engine_prompt_pending_tokens", 701.0),
                entry("warmpath_engine_steps_total", 12_345.0),
                entry("warmpath_engine_step_time_seconds_total", 6.7),
                entry("warmpath_engine_computed_tokens_total", 123_456.0),
                entry("warmpath_engine_generated_tokens_total", 8_910.0),
                entry("warmpath_engine_preemptions_sequences_total{mode=\"recompute\"}", 13.0),
                entry("warmpath_engine_preemptions_sequences_total{mode=\"swap\"}", 9.0),
                entry("warmpath_kv_blocks", 1_000.0),
                entry("warmpath_kv_blocks_used", 400.0),
                entry("warmpath_kv_blocks_free", 600.0),
                entry("warmpath_kv_blocks_cached", 250.0),
                entry("warmpath_kv_blocks_evicted_total", 77.0),
                entry("warmpath_kv_usage_ratio", 0.4),
                entry("warmpath_kv_fragmentation_ratio", 0.125),
                entry("warmpath_kv_swap_blocks", 64.0),
                entry("warmpath_kv_swap_blocks_used", 43.0),
                entry("warmpath_kv_swapped_bytes_total{direction=\"out\"}", 5_406_720.0),
                entry("warmpath_kv_swapped_bytes_total{direction=\"in\"}", 1_523_712.0),
                entry("warmpath_prefix_cache_queries_tokens_total", 90_000.0),
                entry("warmpath_prefix_cache_hits_tokens_total", 30_000.0),
                entry("warmpath_prefix_cache_queries_blocks_total", 5_500.0),
                entry("warmpath_prefix_cache_hits_blocks_total", 1_800.0),
                entry("warmpath_prefix_cache_hit_rate_ratio", 0.75),
                entry("warmpath_prefix_cache_collisions_total", 2.0),
                entry("warmpath_prefix_cache_resets_total", 4.0)));
    }

    @Test
    void every_meter_of_the_worker_with_a_distribution_shows_its_own() {
        Map<String, Double> samples = Scrape.samples(worker());

        // each distribution has one value: its place in the enum, from 1, times 2 ms or 2 tokens
        assertThat(sums(samples)).containsExactlyInAnyOrderEntriesOf(Map.ofEntries(
                entry("warmpath_request_queue_seconds", 0.002),
                entry("warmpath_request_blocks_wait_seconds", 0.004),
                entry("warmpath_request_prefill_seconds", 0.006),
                entry("warmpath_request_first_token_seconds", 0.008),
                entry("warmpath_request_inter_token_seconds", 0.010),
                entry("warmpath_request_decode_seconds", 0.012),
                entry("warmpath_request_end_to_end_seconds", 0.018),
                entry("warmpath_engine_step_seconds", 0.028),
                entry("warmpath_engine_step_sequences", 30.0),
                entry("warmpath_engine_step_prefill_tokens", 34.0),
                entry("warmpath_engine_step_decode_tokens", 36.0),
                entry("warmpath_kv_block_lifetime_seconds", 0.038),
                entry("warmpath_kv_block_idle_before_evict_seconds", 0.040),
                entry("warmpath_kv_block_reuse_gap_seconds", 0.042)));
        assertThat(samples).containsEntry("warmpath_request_decode_seconds_bucket{le=\"0.01\"}", 0.0)
                .containsEntry("warmpath_request_decode_seconds_bucket{le=\"0.02\"}", 1.0)
                .containsEntry("warmpath_request_decode_seconds_bucket{le=\"+Inf\"}", 1.0)
                .containsEntry("warmpath_request_decode_seconds_count", 1.0);
    }

    @Test
    void every_meter_under_vllms_names_with_one_value_shows_its_own_number() throws IOException {
        Map<String, Double> samples = onlySingle(vllm());

        samples.keySet().removeIf(name -> name.startsWith("vllm:cache_config_info"));
        assertThat(samples).containsExactlyInAnyOrderEntriesOf(Map.ofEntries(
                entry(vllmName("num_requests_running"), 3.0),
                entry(vllmName("num_requests_waiting"), 5.0),
                entry(vllmName("num_requests_waiting_by_reason", "reason", "capacity"), 5.0),
                entry(vllmName("num_requests_waiting_by_reason", "reason", "deferred"), 0.0),
                entry(vllmName("engine_sleep_state", "sleep_state", "awake"), 1.0),
                entry(vllmName("engine_sleep_state", "sleep_state", "weights_offloaded"), 0.0),
                entry(vllmName("engine_sleep_state", "sleep_state", "discard_all"), 0.0),
                entry(vllmName("prompt_tokens_total"), 5_000.0),
                entry(vllmName("prompt_tokens_cached_total"), 3_000.0),
                entry(vllmName("prompt_tokens_by_source_total", "source", "local_compute"), 2_000.0),
                entry(vllmName("prompt_tokens_by_source_total", "source", "local_cache_hit"), 3_000.0),
                entry(vllmName("prompt_tokens_by_source_total", "source", "external_kv_transfer"), 0.0),
                entry(vllmName("generation_tokens_total"), 8_910.0),
                entry(vllmName("request_success_total", "finished_reason", "stop"), 201.0),
                entry(vllmName("request_success_total", "finished_reason", "length"), 202.0),
                entry(vllmName("request_success_total", "finished_reason", "abort"), 203.0),
                entry(vllmName("request_success_total", "finished_reason", "error"), 2_736.0),
                entry(vllmName("corrupted_requests_total"), 307.0),
                entry(vllmName("kv_cache_usage_perc"), 0.4),
                entry(vllmName("gpu_cache_usage_perc"), 0.4),
                entry(vllmName("prefix_cache_queries_total"), 90_000.0),
                entry(vllmName("prefix_cache_hits_total"), 30_000.0),
                entry(vllmName("gpu_prefix_cache_queries_total"), 90_000.0),
                entry(vllmName("gpu_prefix_cache_hits_total"), 30_000.0),
                entry(vllmName("num_preemptions_total"), 22.0),
                entry(vllmName("gpu_prefix_cache_hit_rate"), 0.75)));
    }

    @Test
    void every_meter_under_vllms_names_with_a_distribution_shows_its_own() throws IOException {
        assertThat(sums(Scrape.samples(vllm()))).containsExactlyInAnyOrderEntriesOf(Map.ofEntries(
                entry(vllmName("request_queue_time_seconds"), 0.002),
                entry(vllmName("request_prefill_time_seconds"), 0.006),
                entry(vllmName("time_to_first_token_seconds"), 0.008),
                entry(vllmName("inter_token_latency_seconds"), 0.010),
                entry(vllmName("time_per_output_token_seconds"), 0.010),
                entry(vllmName("request_decode_time_seconds"), 0.012),
                entry(vllmName("request_time_per_output_token_seconds"), 0.014),
                entry(vllmName("request_inference_time_seconds"), 0.016),
                entry(vllmName("e2e_request_latency_seconds"), 0.018),
                entry(vllmName("request_prompt_tokens"), 20.0),
                entry(vllmName("request_prefill_kv_computed_tokens"), 22.0),
                entry(vllmName("request_generation_tokens"), 24.0),
                entry(vllmName("request_max_num_generation_tokens"), 24.0),
                entry(vllmName("request_params_max_tokens"), 26.0),
                entry(vllmName("iteration_tokens_total"), 32.0),
                entry(vllmName("kv_block_lifetime_seconds"), 0.038),
                entry(vllmName("kv_block_idle_before_evict_seconds"), 0.040),
                entry(vllmName("kv_block_reuse_gap_seconds"), 0.042)));
    }

    /** As vLLM's {@code vllm/v1/metrics/loggers.py} has them. */
    @Test
    void buckets_under_vllms_names_are_vllms() throws IOException {
        String latencies = "0.3 0.5 0.8 1.0 1.5 2.0 2.5 5.0 10.0 15.0 20.0 30.0 40.0 50.0 60.0 120.0 240.0 480.0 960.0 "
                + "1920.0 7680.0 +Inf";
        String lengths = "1.0 2.0 5.0 10.0 20.0 50.0 100.0 200.0 500.0 1000.0 2000.0 +Inf"; // the context ends at 4,096
        assertThat(bounds("e2e_request_latency_seconds")).isEqualTo(latencies);
        assertThat(bounds("request_queue_time_seconds")).isEqualTo(latencies);
        assertThat(bounds("request_prompt_tokens")).isEqualTo(lengths);
        assertThat(bounds("request_params_max_tokens")).isEqualTo(lengths);
        assertThat(bounds("time_to_first_token_seconds")).isEqualTo("0.001 0.005 0.01 0.02 0.04 0.06 0.08 0.1 0.25 0.5 "
                + "0.75 1.0 2.5 5.0 7.5 10.0 20.0 40.0 80.0 160.0 640.0 2560.0 +Inf");
        assertThat(bounds("inter_token_latency_seconds")).isEqualTo("0.01 0.025 0.05 0.075 0.1 0.15 0.2 0.3 0.4 0.5 "
                + "0.75 1.0 2.5 5.0 7.5 10.0 20.0 40.0 80.0 +Inf");
        assertThat(bounds("iteration_tokens_total")).isEqualTo(
                "1.0 8.0 16.0 32.0 64.0 128.0 256.0 512.0 1024.0 2048.0 4096.0 8192.0 16384.0 +Inf");
        assertThat(bounds("kv_block_lifetime_seconds")).isEqualTo("0.001 0.002 0.005 0.01 0.02 0.05 0.1 0.2 0.5 1.0 "
                + "2.0 5.0 10.0 20.0 30.0 60.0 120.0 300.0 600.0 1200.0 1800.0 +Inf");
    }

    @Test
    void every_panel_of_vllms_public_dashboards_finds_what_it_asks_for() throws IOException {
        Set<String> served = Scrape.samples(vllm()).keySet();
        List<String[]> asked;
        try (var lines = new BufferedReader(new InputStreamReader(
                MeterValuesTest.class.getResourceAsStream("vllm-dashboards.tsv"), StandardCharsets.UTF_8))) {
            asked = lines.lines().filter(line -> !line.startsWith("#")).map(line -> line.split("\t")).toList();
        }

        assertThat(asked).hasSizeGreaterThan(90).allSatisfy(row -> {
            boolean isExcused = row[2].startsWith("-");
            String[] nameAndLabel = row[2].substring(isExcused ? 1 : 0).split("[{}]");
            boolean isServed = served.stream().anyMatch(sample -> sample.startsWith("vllm:" + nameAndLabel[0] + "{")
                    && (nameAndLabel.length == 1 || sample.contains(nameAndLabel[1] + "=")));
            assertThat(isServed).as("%s, %s: %s is served", row[0], row[1], row[2]).isEqualTo(!isExcused);
            assertThat(row).as("an excuse has a reason").hasSize(isExcused ? 4 : 3);
        });
    }

    @Test
    void an_engine_that_holds_no_block_has_no_fragmentation() {
        assertThat(new EngineSnapshot.Pool(10, 10, 4, 0, 0).fragmentation()).isZero();
    }

    /** {@code …_used} stands for any name with this end. */
    @Test
    void the_operators_page_names_every_meter_and_none_that_is_not_there() throws IOException {
        String page = Files.readString(Path.of("../docs/operations.md"));
        int begin = page.indexOf("| meter (worker)");
        String table = page.substring(begin, page.indexOf("\n## ", begin));         // vLLM's names are in it, too
        List<String> shown = Stream.of(worker(), RedisMetersTest.scrape(RedisMetersTest.WELL), vllm())
                .flatMap(text -> Scrape.samples(text).keySet().stream())
                .map(name -> name.replaceAll("\\{.*", "").replaceAll("_(bucket|count|sum)$", "")).distinct().toList();
        List<String> named = Pattern.compile("`((?:warmpath_|vllm:)[a-z0-9_:]+)").matcher(table).results()
                .map(MatchResult::group).map(name -> name.substring(1)).toList();
        List<String> ends = Pattern.compile("`…(_[a-z_]+)").matcher(table).results()
                .map(match -> match.group(1)).toList();

        assertThat(named).hasSizeGreaterThan(20).isSubsetOf(shown);
        assertThat(ends).isNotEmpty().allSatisfy(end -> assertThat(shown).anyMatch(name -> name.endsWith(end)));
        assertThat(shown).allMatch(name -> named.contains(name)
                || name.startsWith("warmpath_") && ends.stream().anyMatch(name::endsWith));
    }

    private static String worker() {
        var registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        var meters = new EngineMeters(() -> NOW, MODEL);
        meters.bindTo(registry);
        registry.getPrometheusRegistry().register(new EngineHistograms(() -> NOW));
        String text = registry.scrape();
        assertThat(meters).as("held until here: a registry holds what it measures weakly").isNotNull();
        return text;
    }

    private static String vllm() throws IOException {
        return new String(new VllmScrape(() -> NOW, MODEL).scrape(null).getBody(), StandardCharsets.UTF_8);
    }

    private static EngineSnapshot.Observed observed() {
        Map<EngineHistogram, Distribution> distributions = new EnumMap<>(EngineHistogram.class);
        for (EngineHistogram each : EngineHistogram.values()) {
            boolean isTime = !each.name().matches(".*(TOKENS|SEQUENCES)");
            var histogram = isTime ? Histogram.ofNanos() : Histogram.ofCounts();
            histogram.record((each.ordinal() + 1) * (isTime ? 2_000_000L : 2));
            distributions.put(each, histogram.distribution());
        }
        long[] finished = {201, 202};
        long[] failed = IntStream.range(0, 9).mapToLong(reason -> 300 + reason).toArray();
        long[] refused = IntStream.range(0, 8).mapToLong(reason -> 400 + reason).toArray();
        return new EngineSnapshot.Observed(finished, failed, refused, /* cancelled */ 203, /* promptTokens */ 5_000,
                /* cachedPromptTokens */ 3_000, distributions, new StepCost(400, 70, 90, 12.5));
    }

    /** Without what belongs to histograms. */
    private static Map<String, Double> onlySingle(String text) {
        Map<String, Double> samples = Scrape.samples(text);
        Scrape.types(text).forEach((name, type) -> {
            if (type.equals("histogram")) {
                String sample = Pattern.quote(name) + "_(bucket|count|sum)(\\{.*)?";
                samples.keySet().removeIf(each -> each.matches(sample));
            }
        });
        return samples;
    }

    /** Of each histogram, without the end of its name. */
    private static Map<String, Double> sums(Map<String, Double> samples) {
        return samples.entrySet().stream().filter(sample -> sample.getKey().matches("[^{]*_sum(\\{.*)?"))
                .collect(Collectors.toMap(sample -> sample.getKey().replace("_sum", ""), Map.Entry::getValue));
    }

    /** The values of {@code le}, in order. */
    private static String bounds(String name) throws IOException {
        return vllm().lines().filter(line -> line.startsWith("vllm:" + name + "_bucket"))
                .map(line -> Scrape.labels(line).get("le")).collect(Collectors.joining(" "));
    }

    private static String vllmName(String name) {
        return "vllm:" + name + "{engine=\"0\",model_name=\"tiny\"}";
    }

    /** @param label stands behind the two that all have, or between or before them: labels are sorted */
    private static String vllmName(String name, String label, String value) {
        return Stream.of("engine=\"0\"", "model_name=\"tiny\"", label + "=\"" + value + "\"").sorted()
                .collect(Collectors.joining(",", "vllm:" + name + "{", "}"));
    }
}
