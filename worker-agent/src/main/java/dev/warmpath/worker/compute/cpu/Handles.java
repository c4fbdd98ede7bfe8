package dev.warmpath.worker.compute.cpu;

import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.Shapes;
import dev.warmpath.worker.compute.Tensor;

/** Opens the handles that processors gave out. */
final class Handles {

    private Handles() {
    }

    static CpuTensor tensor(Tensor handle) {
        if (handle instanceof CpuTensor tensor) {
            return tensor;
        }
        throw new IllegalArgumentException("not a plain tensor of this backend: " + handle.getClass().getSimpleName());
    }

    static CpuWeight weight(Tensor handle) {
        if (handle instanceof CpuWeight weight) {
            return weight;
        }
        throw new IllegalArgumentException("not a weight of this backend: " + handle.getClass().getSimpleName());
    }

    static float[] floats(Tensor handle, int rowCount) {
        return typed(handle, DataType.F32, rowCount).floats;
    }

    static int[] ints(Tensor handle, int rowCount) {
        return typed(handle, DataType.I32, rowCount).ints;
    }

    static long[] longs(Tensor handle, int rowCount) {
        return typed(handle, DataType.I64, rowCount).longs;
    }

    private static CpuTensor typed(Tensor handle, DataType type, int rowCount) {
        Shapes.typed(handle, type, rowCount);
        return tensor(handle);
    }
}
