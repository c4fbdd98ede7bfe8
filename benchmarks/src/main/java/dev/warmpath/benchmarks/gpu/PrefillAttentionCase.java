package dev.warmpath.benchmarks.gpu;

import dev.warmpath.worker.compute.CacheType;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** Prefill attention over paged keys and values is held to FlashAttention-2 over contiguous ones. */
final class PrefillAttentionCase implements GpuCase {

    private final AttentionShape shape;
    private final Goal goal;

    PrefillAttentionCase(Sizes.Held held) {
        this.shape = held.shape();
        this.goal = Goal.share(shape.name(), held.least(), "FlashAttention-2's speed");
    }

    @Override
    public List<Goal> goals() {
        return List.of(goal);
    }

    @Override
    public void measure(GpuBench bench, Consumer<Row> rows) {
        Times times = DecodeAttentionCase.time(bench, shape, CacheType.BF16);
        double flops = shape.causalFlops();
        String measured = "%.1f µs, %.0f TFLOP/s".formatted(times.medianMicros(), times.perSecond(flops) / 1e12);
        Double flash = bench.anchors().flash(shape);
        rows.accept(flash == null
                ? goal.unjudged(measured, bench.anchors().absence(), Map.of("kernel", times))
                : goal.reached(measured, "%.1f µs, %.0f TFLOP/s".formatted(flash / 1e3, flops / flash / 1e3),
                        flash / times.median(), Map.of("kernel", times)));
    }
}
