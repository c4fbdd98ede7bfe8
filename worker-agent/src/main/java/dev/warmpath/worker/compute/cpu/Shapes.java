package dev.warmpath.worker.compute.cpu;

import dev.warmpath.worker.compute.CacheShape;
import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.Tensor;

/** Opens handles and holds operations to the shapes of their contract. */
final class Shapes {

    private Shapes() {
    }

    /** For constant sentences: one that is formatted would be formatted on every call. */
    static void require(boolean condition, String violation) {
        if (!condition) {
            throw new IllegalArgumentException(violation);
        }
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

    static void rows(Tensor tensor, int rowCount) {
        if (rowCount < 0 || rowCount > tensor.rows()) {
            throw new IllegalArgumentException("%d rows asked of a tensor of %d".formatted(rowCount, tensor.rows()));
        }
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
        rows(handle, rowCount);
        if (handle.type() != type) {
            throw new IllegalArgumentException("tensor is %s, takes %s".formatted(handle.type(), type));
        }
        return tensor(handle);
    }

    /** Query heads in a fused projection [tokens, (queryHeads + 2 · kvHeads) · headSize]. */
    static int queryHeads(Tensor qkv, CacheShape shape) {
        int queryHeads = qkv.columns() / shape.headSize() - 2 * shape.kvHeadCount();
        if (qkv.columns() % shape.headSize() != 0 || queryHeads < shape.kvHeadCount()
                || queryHeads % shape.kvHeadCount() != 0) {
            throw new IllegalArgumentException("no query heads fit %d columns and %s".formatted(qkv.columns(), shape));
        }
        return queryHeads;
    }

    static void matmul(Tensor input, Tensor weight, Tensor output) {
        if (input.columns() != weight.columns() || output.columns() != weight.rows() || input == output) {
            throw new IllegalArgumentException("no product of [%d, %d] and [%d, %d]ᵀ into [%d, %d]".formatted(
                    input.rows(), input.columns(), weight.rows(), weight.columns(), output.rows(), output.columns()));
        }
    }

    static void norm(Tensor input, Tensor weight, Tensor output) {
        require(input.columns() == weight.columns() && output.columns() == weight.columns() && weight.rows() == 1,
                "norm over different widths");
    }

    static void siluMul(Tensor gateUp, Tensor output) {
        require(gateUp.columns() == 2 * output.columns(), "gate and up are not twice the output's width");
    }
}
