package dev.warmpath.benchmarks.gpu;

import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.WeightFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Products with a weight in blocks: of 1, 8 and 32 rows, which our kernel widens in registers, and of 33, for which the
 * weight is widened before cuBLASLt multiplies. Where 33 take less than 32, the backend should switch over earlier.
 */
final class BlockProductCase implements GpuCase {

    private static final int[] FEW_ROWS = {1, 8, 32};
    private static final int MORE_ROWS = 33;
    /** What cuBLASLt makes of them. */
    private static final int PADDED_ROWS = 48;

    private final int outputs;
    private final int depth;
    private final WeightFormat format;
    private final Goal goal;

    private BlockProductCase(int outputs, int depth, WeightFormat format) {
        this.outputs = outputs;
        this.depth = depth;
        this.format = format;
        this.goal = Goal.none("gate and up [%d, %d] in %s, 1, 8, 32, 33 rows".formatted(outputs, depth, format));
    }

    /** The largest matrix of a model's layer, in the formats that its rows are whole blocks of. */
    static List<GpuCase> all(LlamaShape model) {
        return Stream.of(WeightFormat.Q8_0, WeightFormat.Q4_0, WeightFormat.Q4_K, WeightFormat.Q5_K, WeightFormat.Q6_K)
                .filter(format -> format.isWhole(model.hidden()))
                .<GpuCase>map(format -> new BlockProductCase(2 * model.intermediate(), model.hidden(), format))
                .toList();
    }

    @Override
    public List<Goal> goals() {
        return List.of(goal);
    }

    @Override
    public void measure(GpuBench bench, Consumer<Row> rows) {
        try (var backend = bench.open(CacheType.BF16)) {
            var matrices = new Matrices(backend, PADDED_ROWS, outputs, depth, format, DataType.BF16);
            Map<String, Times> times = new LinkedHashMap<>();
            var measured = new StringBuilder();
            for (int rowCount : FEW_ROWS) {
                Times few = bench.time(backend, () -> matrices.multiply(rowCount));
                times.put(rowCount + " rows", few);
                measured.append("%.1f, ".formatted(few.medianMicros()));
            }
            Times more = bench.time(backend, () -> matrices.multiply(MORE_ROWS));
            times.put(MORE_ROWS + " rows", more);
            measured.append("widened %.1f µs".formatted(more.medianMicros()));
            double floor = bench.card().readNanos(format.bytes((long) outputs * depth));
            rows.accept(goal.reached(measured.toString(), "%.1f µs to read the blocks".formatted(floor / 1e3),
                    floor / times.get("1 rows").median(), times));
        }
    }
}
