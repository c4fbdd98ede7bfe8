package dev.warmpath.worker.metrics;

import dev.warmpath.worker.OnOwnEngine;
import dev.warmpath.worker.engine.Engine;
import dev.warmpath.worker.engine.EngineSnapshot;
import io.prometheus.metrics.model.registry.MultiCollector;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.util.Arrays;
import java.util.List;
import java.util.function.Supplier;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.stereotype.Component;

/**
 * Shows every {@link WorkerHistogram} to Prometheus, read from the engine's latest snapshot. Not by way of Micrometer,
 * which has histograms only for those who record into them: the engine has recorded already.
 */
@OnOwnEngine
@Component
final class EngineHistograms implements MultiCollector {

    private final Supplier<EngineSnapshot> engine;

    @Autowired
    EngineHistograms(Engine engine, ObjectProvider<PrometheusRegistry> registry) {
        this(engine::snapshot);
        registry.ifAvailable(each -> each.register(this));
    }

    EngineHistograms(Supplier<EngineSnapshot> engine) {
        this.engine = engine;
    }

    @Override
    public MetricSnapshots collect() {
        EngineSnapshot.Observed now = engine.get().observed();
        var snapshots = MetricSnapshots.builder();
        for (WorkerHistogram each : WorkerHistogram.values()) {
            snapshots.metricSnapshot(HistogramSnapshot.builder().name(each.meterName).help(each.description)
                    .dataPoint(each.buckets.show(now.distribution(each.source), Labels.EMPTY)).build());
        }
        return snapshots.build();
    }

    @Override
    public List<String> getPrometheusNames() {
        return Arrays.stream(WorkerHistogram.values()).map(each -> each.meterName).toList();
    }
}
