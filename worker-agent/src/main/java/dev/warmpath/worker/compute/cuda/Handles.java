package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.KvCache;
import dev.warmpath.worker.compute.Shapes;
import dev.warmpath.worker.compute.Tensor;

/** Opens the handles that a device gave out. */
record Handles(CudaDevice device) {

    CudaTensor tensor(Tensor handle) {
        if (handle instanceof CudaTensor tensor && tensor.device == device) {
            return tensor;
        }
        throw new IllegalArgumentException("not a plain tensor of this backend: " + handle.getClass().getSimpleName());
    }

    CudaWeight weight(Tensor handle) {
        if (handle instanceof CudaWeight weight && weight.device == device) {
            return weight;
        }
        throw new IllegalArgumentException("not a weight of this backend: " + handle.getClass().getSimpleName());
    }

    CudaKvCache cache(KvCache handle) {
        if (handle instanceof CudaKvCache cache && cache.device == device) {
            return cache;
        }
        throw new IllegalArgumentException("not a cache of this backend: " + handle.getClass().getSimpleName());
    }

    CudaTensor activations(Tensor handle, int rowCount) {
        return typed(handle, DataType.BF16, rowCount);
    }

    CudaTensor floats(Tensor handle, int rowCount) {
        return typed(handle, DataType.F32, rowCount);
    }

    CudaTensor ints(Tensor handle, int rowCount) {
        return typed(handle, DataType.I32, rowCount);
    }

    CudaTensor longs(Tensor handle, int rowCount) {
        return typed(handle, DataType.I64, rowCount);
    }

    private CudaTensor typed(Tensor handle, DataType type, int rowCount) {
        Shapes.typed(handle, type, rowCount);
        return tensor(handle);
    }
}
