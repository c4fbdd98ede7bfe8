package dev.warmpath.worker.metrics;

import static java.util.Map.entry;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.worker.engine.EngineSnapshot;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Every sample of both scrape paths over one snapshot whose numbers all differ: none can stand in for another. */
class MeterValuesTest {

    private static final EngineSnapshot NOW = new EngineSnapshot(
            new EngineSnapshot.Load(/* running */ 3, /* waiting */ 5, /* pendingPromptTokens */ 701),
            new EngineSnapshot.Pool(/* blockCount */ 1_000, /* freeBlocks */ 600, /* cachedBlocks */ 250,
                    /* allocatedSlots */ 6_400, /* unusedSlots */ 800),
            new EngineSnapshot.PrefixCache(/* queriedTokens */ 90_000, /* hitTokens */ 30_000,
                    /* queriedBlocks */ 5_500, /* hitBlocks */ 1_800, /* recentHitRate */ 0.75, /* collisions */ 2,
                    /* evictions */ 77, /* resets */ 4),
            new EngineSnapshot.Swap(/* blockCount */ 64, /* freeBlocks */ 21, /* outBlocks */ 110, /* inBlocks */ 31),
            new EngineSnapshot.Work(/* steps */ 12_345, /* stepNanos */ 6_700_000_000L, /* computedTokens */ 123_456,
                    /* generatedTokens */ 8_910, /* recomputePreemptions */ 13, /* swapPreemptions */ 9,
                    /* refusedGraphs */ 6), /* stepAgeNanos */ 0);
    private static final CacheDescription CACHE = new CacheDescription(
            "tiny", 16, 1_001, null, 64, /* bytesPerBlock */ 49_152, "float32", 0.9, 1L << 30, true, "sha256_cbor");

    @Test
    void every_meter_of_the_worker_shows_its_own_number() {
        assertThat(Scrape.samples(worker())).containsExactlyInAnyOrderEntriesOf(Map.ofEntries(
                entry("warmpath_engine_running_sequences", 3.0),
                entry("warmpath_engine_waiting_sequences", 5.0),
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
    void every_meter_under_vllms_names_shows_its_own_number() throws IOException {
        Map<String, Double> samples = Scrape.samples(vllm());

        samples.keySet().removeIf(name -> name.startsWith("vllm:cache_config_info"));
        assertThat(samples).containsExactlyInAnyOrderEntriesOf(Map.of(
                vllmName("num_requests_running"), 3.0,
                vllmName("num_requests_waiting"), 5.0,
                vllmName("kv_cache_usage_perc"), 0.4,
                vllmName("gpu_cache_usage_perc"), 0.4,
                vllmName("prefix_cache_queries_total"), 90_000.0,
                vllmName("prefix_cache_hits_total"), 30_000.0,
                vllmName("num_preemptions_total"), 22.0,
                vllmName("gpu_prefix_cache_hit_rate"), 0.75));
    }

    @Test
    void an_engine_that_holds_no_block_has_no_fragmentation() {
        assertThat(new EngineSnapshot.Pool(10, 10, 4, 0, 0).fragmentation()).isZero();
    }

    /** {@code …_used} stands for any name with this end. */
    @Test
    void the_operators_page_names_no_meter_that_is_not_there_and_leaves_no_old_name_of_vllms_out() throws IOException {
        String page = Files.readString(Path.of("../docs/operations.md"));
        String table = page.substring(page.indexOf("| meter (worker)"), page.indexOf("## How large is the cache?"));
        List<String> shown = Stream.of(worker(), RedisMetersTest.scrape(RedisMetersTest.WELL), vllm())
                .flatMap(text -> Scrape.samples(text).keySet().stream())
                .map(name -> name.replaceAll("\\{.*", "")).distinct().toList();
        List<String> named = Pattern.compile("`((?:warmpath_|vllm:)[a-z_:]+)").matcher(table).results()
                .map(MatchResult::group).map(name -> name.substring(1)).toList();
        List<String> ends = Pattern.compile("`…(_[a-z_]+)").matcher(table).results()
                .map(match -> match.group(1)).toList();

        assertThat(named).hasSizeGreaterThan(20).isSubsetOf(shown);
        assertThat(ends).isNotEmpty().allSatisfy(end -> assertThat(shown).anyMatch(name -> name.endsWith(end)));
        assertThat(named).containsAll(shown.stream().filter(name -> name.startsWith("vllm:")).toList());
    }

    private static String worker() {
        var registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        var meters = new EngineMeters(() -> NOW, CACHE);
        meters.bindTo(registry);
        String text = registry.scrape();
        assertThat(meters).as("held until here: a registry holds what it measures weakly").isNotNull();
        return text;
    }

    private static String vllm() throws IOException {
        return new String(new VllmScrape(() -> NOW, CACHE).scrape(null).getBody(), StandardCharsets.UTF_8);
    }

    private static String vllmName(String name) {
        return "vllm:" + name + "{engine=\"0\",model_name=\"tiny\"}";
    }
}
