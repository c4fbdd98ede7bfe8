package dev.warmpath.benchmarks.gpu;

import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.Tensor;
import dev.warmpath.worker.compute.WeightFormat;
import java.lang.foreign.Arena;
import java.util.SplittableRandom;

/** A random weight matrix [outputs, depth] and random rows to multiply by it, on a device. */
final class Matrices {

    private static final int ROWS_AT_ONCE = 4096;

    private final ComputeBackend backend;
    private final Tensor input;
    private final Tensor weight;
    private final Tensor output;

    /** @param rows most rows that will be multiplied */
    Matrices(ComputeBackend backend, int rows, int outputs, int depth, DataType outputType) {
        this.backend = backend;
        input = backend.allocate(backend.activationType(), rows, depth);
        weight = backend.allocateWeight(outputs, depth);
        output = backend.allocate(outputType, rows, outputs);
        var random = new SplittableRandom(7);
        try (var arena = Arena.ofConfined()) {
            backend.write(input, RandomBf16.ACTIVATION.matrix(arena, rows, depth, random));
            var values = RandomBf16.WEIGHT.matrix(arena, Math.min(outputs, ROWS_AT_ONCE), depth, random);
            for (int first = 0; first < outputs; first += ROWS_AT_ONCE) {
                int count = Math.min(outputs - first, ROWS_AT_ONCE);
                backend.upload(weight, first, count, WeightFormat.BF16,
                        values.asSlice(0, (long) count * depth * RandomBf16.BYTES));
            }
        }
    }

    void multiply(int rows) {
        backend.matmul(input, weight, output, rows);
    }
}
