package dev.warmpath.benchmarks.gpu;

import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.DataType;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Products of few rows, by our kernel, against cuBLASLt's of 16 rows: what 1 to 8 would be padded to there. Where ours
 * is slower, the backend should switch over earlier.
 */
final class SkinnyMatmulCase implements GpuCase {

    private static final int[] SKINNY_ROWS = {1, 2, 4, 8};
    /** The least that goes to cuBLASLt. */
    private static final int LIBRARY_ROWS = 16;

    private final int outputs;
    private final int depth;
    private final DataType outputType;
    private final Goal goal;

    private SkinnyMatmulCase(String name, int outputs, int depth, DataType outputType) {
        this.outputs = outputs;
        this.depth = depth;
        this.outputType = outputType;
        this.goal = Goal.share("%s [%d, %d], 1, 2, 4, 8 rows".formatted(name, outputs, depth), Goal.NONE, "");
    }

    /** The matrices of a model's layer, and its head. */
    static List<GpuCase> all(LlamaShape model) {
        int attended = model.heads() * model.headSize();
        return List.of(new SkinnyMatmulCase("qkv", model.qkvColumns(), model.hidden(), DataType.BF16),
                new SkinnyMatmulCase("output", model.hidden(), attended, DataType.BF16),
                new SkinnyMatmulCase("gate and up", 2 * model.intermediate(), model.hidden(), DataType.BF16),
                new SkinnyMatmulCase("down", model.hidden(), model.intermediate(), DataType.BF16),
                new SkinnyMatmulCase("head", model.vocabulary(), model.hidden(), DataType.F32));
    }

    @Override
    public List<Goal> goals() {
        return List.of(goal);
    }

    @Override
    public void measure(GpuBench bench, Consumer<Row> rows) {
        try (var backend = bench.open(CacheType.BF16)) {
            var matrices = new Matrices(backend, LIBRARY_ROWS, outputs, depth, outputType);
            Map<String, Times> times = new LinkedHashMap<>();
            var measured = new StringBuilder();
            for (int rowCount : SKINNY_ROWS) {
                Times skinny = bench.time(backend, () -> matrices.multiply(rowCount));
                times.put(rowCount + " rows", skinny);
                measured.append("%.1f, ".formatted(skinny.medianMicros()));
            }
            Times library = bench.time(backend, () -> matrices.multiply(LIBRARY_ROWS));
            times.put("cuBLASLt, 16 rows", library);
            measured.append("cuBLASLt %.1f µs".formatted(library.medianMicros()));
            double floor = bench.card().readNanos((double) outputs * depth * RandomBf16.BYTES);
            rows.accept(goal.reached(measured.toString(), "%.1f µs to read the weights".formatted(floor / 1e3),
                    floor / times.get("1 rows").median(), times));
        }
    }
}
