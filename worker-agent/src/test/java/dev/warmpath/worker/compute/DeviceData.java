package dev.warmpath.worker.compute;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.SplittableRandom;

/** Carries plain arrays over the seam and back, for tests. Activations are F32 here. */
record DeviceData(ComputeBackend backend, Arena arena) implements AutoCloseable {

    DeviceData(ComputeBackend backend) {
        this(backend, Arena.ofConfined());
    }

    static float[] uniform(int count, long seed, double bound) {
        float[] values = new float[count];
        var random = new SplittableRandom(seed);
        for (int i = 0; i < count; i++) {
            values[i] = (float) random.nextDouble(-bound, bound);
        }
        return values;
    }

    Tensor floats(int rows, int columns, float... values) {
        Tensor tensor = backend.allocate(DataType.F32, rows, columns);
        backend.write(tensor, arena.allocateFrom(ValueLayout.JAVA_FLOAT, values));
        return tensor;
    }

    Tensor ints(int... values) {
        Tensor tensor = backend.allocate(DataType.I32, values.length, 1);
        backend.write(tensor, arena.allocateFrom(ValueLayout.JAVA_INT, values));
        return tensor;
    }

    Tensor longs(long... values) {
        Tensor tensor = backend.allocate(DataType.I64, values.length, 1);
        backend.write(tensor, arena.allocateFrom(ValueLayout.JAVA_LONG, values));
        return tensor;
    }

    Tensor weight(int rows, int columns, float... values) {
        Tensor weight = backend.allocateWeight(rows, columns);
        backend.upload(weight, 0, rows, DataType.F32, segment(values));
        return weight;
    }

    MemorySegment segment(float... values) {
        return arena.allocateFrom(ValueLayout.JAVA_FLOAT, values);
    }

    float[] read(Tensor tensor) {
        return read(tensor, tensor.rows());
    }

    int[] readInts(Tensor tensor) {
        MemorySegment values = arena.allocate(ValueLayout.JAVA_INT, (long) tensor.rows() * tensor.columns());
        backend.read(tensor, tensor.rows(), values);
        return values.toArray(ValueLayout.JAVA_INT);
    }

    float[] read(Tensor tensor, int rowCount) {
        MemorySegment values = arena.allocate(ValueLayout.JAVA_FLOAT, (long) rowCount * tensor.columns());
        backend.read(tensor, rowCount, values);
        return values.toArray(ValueLayout.JAVA_FLOAT);
    }

    @Override
    public void close() {
        backend.close();
        arena.close();
    }
}
