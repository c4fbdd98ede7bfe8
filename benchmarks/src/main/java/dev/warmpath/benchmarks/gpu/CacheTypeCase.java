package dev.warmpath.benchmarks.gpu;

import dev.warmpath.worker.compute.CacheType;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** Keys and values in fp8 are about half the bytes, scales included: at most so much faster than bf16. */
final class CacheTypeCase implements GpuCase {

    private static final double LEAST = 1.6;

    private final AttentionShape shape;
    private final Goal goal;

    CacheTypeCase(AttentionShape shape) {
        this.shape = shape;
        this.goal = Goal.times("fp8 keys and values, " + shape.name(), LEAST, "bf16's speed");
    }

    @Override
    public List<Goal> goals() {
        return List.of(goal);
    }

    private double most() {
        return (double) shape.vectorBytes(CacheType.BF16) / shape.vectorBytes(CacheType.FP8_E4M3);
    }

    @Override
    public void measure(GpuBench bench, Consumer<Row> rows) {
        Times fp8 = DecodeAttentionCase.time(bench, shape, CacheType.FP8_E4M3);
        Times bf16 = DecodeAttentionCase.time(bench, shape, CacheType.BF16);
        rows.accept(goal.reached(
                "%.1f µs against %.1f".formatted(fp8.medianMicros(), bf16.medianMicros()),
                "%.2f ×".formatted(most()), (double) bf16.median() / fp8.median(), Map.of("fp8", fp8, "bf16", bf16)));
    }
}
