package dev.warmpath.worker.metrics;

import dev.warmpath.worker.OnOwnEngine;
import dev.warmpath.worker.engine.Engine;
import dev.warmpath.worker.engine.EngineSnapshot;
import io.prometheus.metrics.expositionformats.ExpositionFormatWriter;
import io.prometheus.metrics.expositionformats.ExpositionFormats;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.CounterSnapshot.CounterDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot.GaugeDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot;
import io.prometheus.metrics.model.snapshots.InfoSnapshot;
import io.prometheus.metrics.model.snapshots.InfoSnapshot.InfoDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.http.HttpHeaders;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RestController;

/**
 * {@code GET /metrics} on the port that serves requests, because that is where whoever knows vLLM looks. Like every
 * read it is open within the fleet's network.
 *
 * <p>Written with the Prometheus client itself: Micrometer would drop the colon of the names and the suffix of
 * {@code cache_config_info}. All values of one scrape are of one moment, but for what {@link EngineSnapshot} says.
 */
@OnOwnEngine
@RestController
final class VllmScrape {

    /** vLLM numbers the engines of one server; this server has one. */
    private static final String ENGINE = "0";
    /** Of a histogram the client does not write a name that ends in {@code _total}, as vLLM's does. */
    private static final String ITERATION = VllmHistogram.ITERATION.meterName;
    private static final double BYTES_PER_GIBIBYTE = 1 << 30;

    private final Supplier<EngineSnapshot> engine;
    private final ExpositionFormats formats = ExpositionFormats.init();
    private final Labels labels;
    private final int contextLength;
    private final InfoSnapshot cacheConfig;

    @Autowired
    VllmScrape(Engine engine, ServedModel model) {
        this(engine::snapshot, model);
    }

    VllmScrape(Supplier<EngineSnapshot> engine, ServedModel model) {
        this.engine = engine;
        this.labels = Labels.of("model_name", model.model(), "engine", ENGINE);
        this.contextLength = model.contextLength();
        this.cacheConfig = cacheConfig(model);
    }

    /** In the format that the scraper asks for, the text format by default. */
    @GetMapping("/metrics")
    ResponseEntity<byte[]> scrape(@RequestHeader(name = HttpHeaders.ACCEPT, required = false) @Nullable String accept)
            throws IOException {
        ExpositionFormatWriter writer = formats.findWriter(accept);
        var body = new ByteArrayOutputStream();
        writer.write(body, meters(engine.get()));
        String text = body.toString(StandardCharsets.UTF_8).replace(ITERATION, ITERATION + "_total");
        return ResponseEntity.ok().header(HttpHeaders.CONTENT_TYPE, writer.getContentType())
                .body(text.getBytes(StandardCharsets.UTF_8));
    }

    private MetricSnapshots meters(EngineSnapshot now) {
        Map<String, List<VllmMeter>> byName = Arrays.stream(VllmMeter.values())
                .collect(Collectors.groupingBy(meter -> meter.meterName));
        var meters = MetricSnapshots.builder();
        byName.values().forEach(meter -> meters.metricSnapshot(meter(meter, now)));
        for (VllmHistogram histogram : VllmHistogram.values()) {
            meters.metricSnapshot(HistogramSnapshot.builder().name(histogram.meterName).help(histogram.description)
                    .dataPoint(histogram.buckets.upTo(contextLength)
                            .show(now.observed().distribution(histogram.source), labels)).build());
        }
        return meters.metricSnapshot(cacheConfig).build();
    }

    /** @param points of one name, parted by labels */
    private MetricSnapshot meter(List<VllmMeter> points, EngineSnapshot now) {
        VllmMeter meter = points.getFirst();
        return switch (meter.kind) {
            case GAUGE -> {
                var gauge = GaugeSnapshot.builder().name(meter.meterName).help(meter.description);
                points.forEach(each -> gauge.dataPoint(GaugeDataPointSnapshot.builder()
                        .labels(labels.merge(each.labels)).value(each.value.applyAsDouble(now)).build()));
                yield gauge.build();
            }
            case COUNTER -> {
                var counter = CounterSnapshot.builder().name(meter.meterName).help(meter.description);
                points.forEach(each -> counter.dataPoint(CounterDataPointSnapshot.builder()
                        .labels(labels.merge(each.labels)).value(each.value.applyAsDouble(now)).build()));
                yield counter.build();
            }
        };
    }

    /** The labels that vLLM has and that mean something here, written as Python writes values. */
    private static InfoSnapshot cacheConfig(ServedModel cache) {
        var config = Labels.builder()
                .label("engine", ENGINE)
                .label("block_size", Integer.toString(cache.blockSize()))
                .label("cache_dtype", cache.elementType())
                .label("enable_prefix_caching", cache.prefixCaching() ? "True" : "False")
                .label("gpu_memory_utilization", Double.toString(cache.memoryUtilization()))
                .label("num_cpu_blocks", Integer.toString(cache.hostBlockCount()))
                .label("num_gpu_blocks", Integer.toString(cache.blockCount()))
                .label("num_gpu_blocks_override",
                        cache.blockCountSetting() == null ? "None" : cache.blockCountSetting().toString())
                .label("prefix_caching_hash_algo", cache.hashAlgorithm())
                .label("sliding_window", "None")
                .label("swap_space", gibibytes(cache.swapSpaceBytes()))
                .build();
        // the client adds the suffix _info
        return InfoSnapshot.builder().name("vllm:cache_config").help("Configuration of the KV cache")
                .dataPoint(InfoDataPointSnapshot.builder().labels(config).build()).build();
    }

    /** vLLM's unit. */
    private static String gibibytes(long bytes) {
        return bytes == 0 ? "0" : String.format(Locale.ROOT, "%.4f", bytes / BYTES_PER_GIBIBYTE);
    }
}
