package dev.warmpath.benchmarks.gpu;

import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.SampledTokens;
import dev.warmpath.worker.compute.SamplingInputs;
import dev.warmpath.worker.compute.ScoreInputs;
import dev.warmpath.worker.compute.ScoredTokens;
import dev.warmpath.worker.compute.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/**
 * Drawing tokens from logits, against reading them once: greedily, cut by top-p, by top-k, from all tokens, where each
 * weighs in float64, and cut where too many tokens weigh alike to be candidates. And telling how likely they are, with so
 * many of the likeliest beside.
 */
final class SamplingCase implements GpuCase {

    private static final List<Way> WAYS = List.of(new Way("greedy", 0, 0, 1), new Way("top-p 0.95", 0.8f, 0, 0.95f),
            new Way("top-k 50", 0.8f, 50, 1), new Way("all", 0.8f, 0, 1), new Way("flat, top-p 0.95", 4, 0, 0.95f));
    private static final List<Integer> LIKELIEST = List.of(0, 5, 20);
    /** Tokens of a row that stand out. */
    private static final int PEAKS = 20;

    private final int vocabulary;
    private final List<Integer> rowCounts;
    private final int mostRows;
    private final Goal goal;

    /** @param topK 0 is off @param topP 1 is off */
    private record Way(String name, float temperature, int topK, float topP) {
    }

    SamplingCase(Sizes sizes) {
        vocabulary = sizes.model().vocabulary();
        rowCounts = sizes.sampledRows();
        mostRows = rowCounts.getLast();
        goal = Goal.share("sample of %d, %s rows".formatted(vocabulary,
                rowCounts.stream().map(String::valueOf).collect(Collectors.joining(", "))), Goal.NONE, "");
    }

    @Override
    public List<Goal> goals() {
        return List.of(goal);
    }

    @Override
    public void measure(GpuBench bench, Consumer<Row> rows) {
        try (var backend = bench.open(CacheType.BF16); var arena = Arena.ofConfined()) {
            Tensor logits = logits(backend, arena);
            var drawn = new SampledTokens(backend.allocate(DataType.I32, mostRows, 1),
                    backend.allocate(DataType.F32, mostRows, 1));
            Map<String, Times> times = new LinkedHashMap<>();
            var measured = new StringBuilder();
            for (Way way : WAYS) {
                SamplingInputs inputs = inputs(backend, arena, way);
                measured.append(measured.isEmpty() ? "" : ", ").append(way.name());
                for (int rowCount : rowCounts) {
                    Times took = bench.time(backend, () -> backend.sample(logits, inputs, drawn, rowCount));
                    times.put("%s, %d rows".formatted(way.name(), rowCount), took);
                    measured.append(" %.1f".formatted(took.medianMicros()));
                }
            }
            var scored = ScoredTokens.allocate(backend, mostRows);
            for (int likeliest : LIKELIEST) {
                ScoreInputs inputs = scoreInputs(backend, arena, likeliest);
                measured.append(", score with ").append(likeliest);
                for (int rowCount : rowCounts) {
                    Times took = bench.time(backend, () -> backend.score(logits, inputs, scored, 0, rowCount));
                    times.put("score with %d, %d rows".formatted(likeliest, rowCount), took);
                    measured.append(" %.1f".formatted(took.medianMicros()));
                }
            }
            double floor = bench.card().readNanos((double) mostRows * vocabulary * Float.BYTES);
            rows.accept(goal.reached(measured + " µs", "%.1f µs to read %d rows".formatted(floor / 1e3, mostRows),
                    floor / times.get("top-p 0.95, %d rows".formatted(mostRows)).median(), times));
        }
    }

    private ScoreInputs scoreInputs(ComputeBackend backend, Arena arena, int likeliest) {
        var counts = arena.allocate(ValueLayout.JAVA_INT, mostRows);
        for (int row = 0; row < mostRows; row++) {
            counts.setAtIndex(ValueLayout.JAVA_INT, row, likeliest);
        }
        var inputs = new ScoreInputs(backend.allocate(DataType.I32, mostRows, 1),
                backend.allocate(DataType.I32, mostRows, 1));
        backend.write(inputs.counts(), counts);
        return inputs;
    }

    /** As spread as a model's: a few tokens stand out from a crowd whose weights are small together. */
    private Tensor logits(ComputeBackend backend, Arena arena) {
        var random = new SplittableRandom(11);
        var values = arena.allocate(ValueLayout.JAVA_FLOAT, (long) mostRows * vocabulary);
        for (long i = 0; i < (long) mostRows * vocabulary; i++) {
            values.setAtIndex(ValueLayout.JAVA_FLOAT, i, (float) (2.5 * random.nextGaussian()));
        }
        for (int row = 0; row < mostRows; row++) {
            for (int peak = 0; peak < PEAKS; peak++) {
                values.setAtIndex(ValueLayout.JAVA_FLOAT, (long) row * vocabulary + random.nextInt(vocabulary),
                        14 + 6 * (float) random.nextDouble());
            }
        }
        Tensor logits = backend.allocate(DataType.F32, mostRows, vocabulary);
        backend.write(logits, values);
        return logits;
    }

    private SamplingInputs inputs(ComputeBackend backend, Arena arena, Way way) {
        var seeds = arena.allocate(ValueLayout.JAVA_LONG, mostRows);
        var temperatures = arena.allocate(ValueLayout.JAVA_FLOAT, mostRows);
        var topKs = arena.allocate(ValueLayout.JAVA_INT, mostRows);
        var topPs = arena.allocate(ValueLayout.JAVA_FLOAT, mostRows);
        for (int row = 0; row < mostRows; row++) {
            seeds.setAtIndex(ValueLayout.JAVA_LONG, row, row);
            temperatures.setAtIndex(ValueLayout.JAVA_FLOAT, row, way.temperature());
            topKs.setAtIndex(ValueLayout.JAVA_INT, row, way.topK());
            topPs.setAtIndex(ValueLayout.JAVA_FLOAT, row, way.topP());
        }
        var inputs = new SamplingInputs(backend.allocate(DataType.I64, mostRows, 1),
                backend.allocate(DataType.I32, mostRows, 1), backend.allocate(DataType.F32, mostRows, 1),
                backend.allocate(DataType.I32, mostRows, 1), backend.allocate(DataType.F32, mostRows, 1),
                backend.allocate(DataType.I32, mostRows, 1));
        backend.write(inputs.seeds(), seeds);
        backend.write(inputs.temperatures(), temperatures);
        backend.write(inputs.topKs(), topKs);
        backend.write(inputs.topPs(), topPs);
        return inputs;
    }
}
