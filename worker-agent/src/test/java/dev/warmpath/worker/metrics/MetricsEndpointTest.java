package dev.warmpath.worker.metrics;

import static dev.warmpath.worker.metrics.Scrape.labels;
import static dev.warmpath.worker.metrics.Scrape.samples;
import static dev.warmpath.worker.metrics.Scrape.types;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.GenerateEvent;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.engine.Engine;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.boot.test.web.server.LocalManagementPort;
import org.springframework.boot.test.web.server.LocalServerPort;
import org.springframework.http.HttpHeaders;
import org.springframework.http.MediaType;
import org.springframework.web.reactive.function.client.WebClient;
import tools.jackson.databind.json.JsonMapper;

/** Both scrape paths of a whole worker, read as Prometheus reads them. */
@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT, properties = {
    "warmpath.worker.id=w", "warmpath.worker.base-url=http://127.0.0.1:1", "warmpath.kv.memory=16MB",
    "warmpath.kv.memory-utilization=0.75", "warmpath.kv.swap-space=4MB",
    "warmpath.model.directory=../models/warmpath-tiny", "warmpath.compute.backend=vector", "warmpath.compute.threads=1",
    "warmpath.compute.warm-up=0s",
    "warmpath.compute.longest-step=1h",
    "warmpath.routerlink.token=secret", "management.server.port=0", "management.prometheus.metrics.export.enabled=true",
})
class MetricsEndpointTest {

    private static final Duration TIMEOUT = Duration.ofMinutes(10);
    private static final String MODEL_LABELS = "{engine=\"0\",model_name=\"warmpath-tiny\"}";

    @Autowired
    Engine engine;

    @LocalServerPort
    int port;

    @LocalManagementPort
    int managementPort;

    @Test
    void vllms_names_survive_verbatim_with_its_labels() {
        String before = get(port, "/metrics", null).body();
        answerTwice();
        String after = get(port, "/metrics", null).body();

        assertThat(types(after)).containsAllEntriesOf(Map.of(
                "vllm:num_requests_running", "gauge",
                "vllm:num_requests_waiting", "gauge",
                "vllm:kv_cache_usage_perc", "gauge",
                "vllm:prefix_cache_queries_total", "counter",
                "vllm:request_success_total", "counter",
                "vllm:cache_config_info", "gauge",
                "vllm:time_to_first_token_seconds", "histogram",
                "vllm:iteration_tokens_total", "histogram"));
        Map<String, Double> samples = samples(after);
        assertThat(samples).containsEntry("vllm:num_requests_running" + MODEL_LABELS, 0.0)
                .containsEntry("vllm:num_requests_waiting" + MODEL_LABELS, 0.0)
                .containsEntry("vllm:kv_cache_usage_perc" + MODEL_LABELS, 0.0)
                .containsEntry("vllm:gpu_cache_usage_perc" + MODEL_LABELS, 0.0)
                .containsEntry("vllm:num_preemptions_total" + MODEL_LABELS, 0.0);
        // the prompt of 100 tokens twice; the second one finds its first six blocks
        assertThat(growth("vllm:prefix_cache_queries_total" + MODEL_LABELS, before, after)).isEqualTo(200);
        assertThat(growth("vllm:prefix_cache_hits_total" + MODEL_LABELS, before, after)).isGreaterThanOrEqualTo(96);
        assertThat(samples.get("vllm:gpu_prefix_cache_hit_rate" + MODEL_LABELS)).isBetween(0.1, 1.0);
        assertThat(growth("vllm:prompt_tokens_total" + MODEL_LABELS, before, after)).isEqualTo(200);
        assertThat(growth("vllm:generation_tokens_total" + MODEL_LABELS, before, after)).isEqualTo(6);
        assertThat(growth("vllm:time_to_first_token_seconds_count" + MODEL_LABELS, before, after)).isEqualTo(2);
        assertThat(growth("vllm:inter_token_latency_seconds_count" + MODEL_LABELS, before, after)).isEqualTo(4);
        assertThat(growth("vllm:request_prompt_tokens_sum" + MODEL_LABELS, before, after)).isEqualTo(200);
    }

    @Test
    void the_caches_configuration_stands_in_labels() {
        String info = get(port, "/metrics", null).body().lines()
                .filter(line -> line.startsWith("vllm:cache_config_info{")).findFirst().orElseThrow();

        assertThat(info).endsWith("} 1");
        // 16 MiB · 0.75 / 49,152 = 256; 4 MiB / 49,152 = 85.3
        assertThat(labels(info)).containsExactlyInAnyOrderEntriesOf(Map.ofEntries(
                Map.entry("engine", "0"), Map.entry("block_size", "16"), Map.entry("cache_dtype", "float32"),
                Map.entry("enable_prefix_caching", "True"), Map.entry("gpu_memory_utilization", "0.75"),
                Map.entry("num_gpu_blocks", "256"), Map.entry("num_gpu_blocks_override", "None"),
                Map.entry("num_cpu_blocks", "85"), Map.entry("prefix_caching_hash_algo", "sha256_cbor"),
                Map.entry("sliding_window", "None"), Map.entry("swap_space", "0.0039")));
    }

    @Test
    void a_scraper_gets_the_format_that_it_asks_for() {
        HttpResponse<String> plain = get(port, "/metrics", "text/plain;version=0.0.4");
        HttpResponse<String> open = get(port, "/metrics", "application/openmetrics-text;version=1.0.0,*/*;q=0.1");

        assertThat(plain.headers().firstValue("content-type").orElseThrow()).startsWith("text/plain");
        assertThat(open.headers().firstValue("content-type").orElseThrow()).startsWith("application/openmetrics-text");
        assertThat(open.body()).contains("# TYPE vllm:num_preemptions counter", "vllm:num_preemptions_total{")
                .endsWith("# EOF\n");
    }

    @Test
    void every_meter_of_the_worker_is_on_the_management_port() {
        String before = get(managementPort, "/actuator/prometheus", null).body();
        answerTwice();
        String after = get(managementPort, "/actuator/prometheus", null).body();

        assertThat(samples(after)).containsKeys(
                "warmpath_engine_running_sequences", "warmpath_engine_waiting_sequences",
                "warmpath_engine_prompt_pending_tokens", "warmpath_engine_steps_total",
                "warmpath_engine_step_time_seconds_total", "warmpath_engine_computed_tokens_total",
                "warmpath_engine_generated_tokens_total",
                "warmpath_engine_preemptions_sequences_total{mode=\"recompute\"}",
                "warmpath_engine_preemptions_sequences_total{mode=\"swap\"}",
                "warmpath_kv_blocks_cached", "warmpath_kv_blocks_evicted_total",
                "warmpath_kv_swapped_bytes_total{direction=\"out\"}",
                "warmpath_kv_swapped_bytes_total{direction=\"in\"}",
                "warmpath_prefix_cache_queries_tokens_total", "warmpath_prefix_cache_hits_tokens_total",
                "warmpath_prefix_cache_hit_rate_ratio");
        assertThat(samples(after)).containsEntry("warmpath_kv_blocks", 255.0)
                .containsEntry("warmpath_kv_blocks_used", 0.0)
                .containsEntry("warmpath_kv_blocks_free", 255.0)
                .containsEntry("warmpath_kv_usage_ratio", 0.0)
                .containsEntry("warmpath_kv_fragmentation_ratio", 0.0)
                .containsEntry("warmpath_kv_swap_blocks", 85.0)
                .containsEntry("warmpath_kv_swap_blocks_used", 0.0);
        assertThat(growth("warmpath_prefix_cache_queries_blocks_total", before, after)).isEqualTo(12);
        assertThat(growth("warmpath_prefix_cache_hits_blocks_total", before, after)).isGreaterThanOrEqualTo(6);
        assertThat(growth("warmpath_engine_requests_total{end=\"length\"}", before, after)).isEqualTo(2);
        assertThat(growth("warmpath_request_end_to_end_seconds_count", before, after)).isEqualTo(2);
        assertThat(samples(after).get("warmpath_model_load_seconds")).isPositive();
    }

    /** Two equal requests, one after the other, and the engine at rest again. */
    private void answerTwice() {
        for (int i = 0; i < 2; i++) {
            WebClient.create("http://127.0.0.1:" + port).post().uri("/v1/generate")
                    .header(HttpHeaders.AUTHORIZATION, "Bearer secret").contentType(MediaType.APPLICATION_JSON)
                    .bodyValue(GenerateRequest.of("r" + i, IntStream.range(0, 100).toArray(), SamplingParameters.GREEDY,
                            StopConditions.pastTheEnd(3)))
                    .retrieve().bodyToFlux(GenerateEvent.class).blockLast(TIMEOUT);
        }
        long deadline = System.nanoTime() + TIMEOUT.toNanos();
        while (engine.snapshot().load().running() > 0 && System.nanoTime() - deadline < 0) {
            Thread.onSpinWait();
        }
    }

    /** Without the fleet's token: reads are open. */
    private static HttpResponse<String> get(int port, String path, String accept) {
        try (HttpClient client = HttpClient.newHttpClient()) {
            var request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path)).timeout(TIMEOUT);
            if (accept != null) {
                request.header("Accept", accept);
            }
            HttpResponse<String> response = client.send(request.build(), HttpResponse.BodyHandlers.ofString());
            assertThat(response.statusCode()).isEqualTo(200);
            return response;
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    private static double growth(String sample, String before, String after) {
        return samples(after).get(sample) - samples(before).get(sample);
    }

    @Test
    void what_is_computed_and_by_what_is_told_to_whoever_asks() {
        var info = JsonMapper.shared().readTree(get(managementPort, "/actuator/info", null).body());

        assertThat(info.at("/model/name").asString()).isEqualTo("warmpath-tiny");
        assertThat(info.at("/model/revision").asString()).matches("[0-9a-f]{16,64}");
        assertThat(info.at("/model/contextLength").asInt()).isEqualTo(2_048);
        assertThat(info.at("/model/quantization").asString()).isEqualTo("none");
        assertThat(info.at("/kernels/backend").asString()).isEqualTo("vector");
        assertThat(info.at("/kernels/vectors").asString()).matches("\\d+ bits");
        assertThat(info.at("/kernels/threads").asString()).isEqualTo("1");
        assertThat(info.at("/build/version").asString()).matches("\\d.*");
        assertThat(info.at("/build/commit").asString()).matches("[0-9a-f]{40}(-dirty)?|unknown");
        assertThat(info.at("/java/version").asString()).startsWith("25");
        assertThat(info.at("/settings/hash").asString()).matches("[0-9a-f]{16}");
        assertThat(info.at("/settings/capabilities").propertyNames()).contains("compute", "drain", "kv", "shutdown");
        assertThat(info.toString()).doesNotContain("secret");
    }

    @Test
    void the_groups_of_health_are_those_that_probes_ask_for() {
        for (String group : List.of("liveness", "readiness", "startup")) {
            HttpResponse<String> answer = get(managementPort, "/actuator/health/" + group, null);
            assertThat(answer.statusCode()).as(group).isEqualTo(200);
            assertThat(answer.body()).contains("\"status\":\"UP\"");
        }
    }
}
