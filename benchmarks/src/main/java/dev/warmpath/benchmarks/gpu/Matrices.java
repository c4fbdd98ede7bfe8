package dev.warmpath.benchmarks.gpu;

import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.StoredRows;
import dev.warmpath.worker.compute.Tensor;
import dev.warmpath.worker.compute.WeightFormat;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.SplittableRandom;

/** A random weight matrix [outputs, depth] and random rows to multiply by it, on a device. */
final class Matrices {

    private static final int ROWS_AT_ONCE = 4096;
    /** Bits that leave binary16 numbers below 1 in any place of a block. */
    private static final long SMALL_BYTES = 0x3B3B_3B3B_3B3B_3B3BL;

    private final ComputeBackend backend;
    private final Tensor input;
    private final Tensor weight;
    private final Tensor output;

    /** @param rows most rows that will be multiplied */
    Matrices(ComputeBackend backend, int rows, int outputs, int depth, DataType outputType) {
        this(backend, rows, outputs, depth, WeightFormat.BF16, outputType);
    }

    /** @param format of the weight: BF16, or one of blocks */
    Matrices(ComputeBackend backend, int rows, int outputs, int depth, WeightFormat format, DataType outputType) {
        this.backend = backend;
        input = backend.allocate(backend.activationType(), rows, depth);
        weight = backend.allocateWeight(depth, List.of(new StoredRows(format, outputs)));
        output = backend.allocate(outputType, rows, outputs);
        var random = new SplittableRandom(7);
        try (var arena = Arena.ofConfined()) {
            backend.write(input, RandomBf16.ACTIVATION.matrix(arena, rows, depth, random));
            int atOnce = Math.min(outputs, ROWS_AT_ONCE);
            MemorySegment values = format == WeightFormat.BF16 ? RandomBf16.WEIGHT.matrix(arena, atOnce, depth, random)
                    : blocks(arena, format.bytes((long) atOnce * depth), random);
            for (int first = 0; first < outputs; first += ROWS_AT_ONCE) {
                int count = Math.min(outputs - first, ROWS_AT_ONCE);
                backend.upload(weight, first, count, format, values.asSlice(0, format.bytes((long) count * depth)));
            }
        }
    }

    /** @param bytes a multiple of 8 */
    private static MemorySegment blocks(Arena arena, long bytes, SplittableRandom random) {
        MemorySegment values = arena.allocate(bytes);
        for (long at = 0; at < bytes; at += Long.BYTES) {
            values.set(ValueLayout.JAVA_LONG_UNALIGNED, at, random.nextLong() & SMALL_BYTES);
        }
        return values;
    }

    void multiply(int rows) {
        backend.matmul(input, weight, output, rows);
    }
}
