package dev.warmpath.benchmarks.gpu;

import dev.warmpath.worker.compute.CacheType;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** Decode attention is held to the time in which the card's copy moves the bytes of the cached keys and values. */
final class DecodeAttentionCase implements GpuCase {

    private final AttentionShape shape;
    private final Goal goal;

    DecodeAttentionCase(Sizes.Held held) {
        this.shape = held.shape();
        this.goal = Goal.share(shape.name(), held.least(), "copy bandwidth");
    }

    @Override
    public List<Goal> goals() {
        return List.of(goal);
    }

    @Override
    public void measure(GpuBench bench, Consumer<Row> rows) {
        Times times = time(bench, shape, CacheType.BF16);
        double bytes = shape.keyValueBytes(CacheType.BF16);
        double floor = bench.card().readNanos(bytes);
        rows.accept(goal.reached("%.1f µs, %.0f GB/s".formatted(times.medianMicros(), times.perSecond(bytes) / 1e9),
                "%.1f µs for %.1f MB".formatted(floor / 1e3, bytes / 1e6), floor / times.median(),
                Map.of("kernel", times)));
    }

    static Times time(GpuBench bench, AttentionShape shape, CacheType type) {
        try (var backend = bench.open(type)) {
            var world = new AttentionWorld(backend, shape);
            Times times = bench.time(backend, world::attend);
            world.requireResults();
            return times;
        }
    }
}
