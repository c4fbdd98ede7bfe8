package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.DataType;

/** Matrix products by cuBLASLt, with one plan per bucket of shapes. */
final class GemmPlans extends DeviceObject {

    GemmPlans(CudaDevice device) {
        super(device);
    }

    /** Rows that a product of {@code rows} rows reads and writes: the next of 16, 32 … 128, 192 … 1,024, 1,280 … */
    static int bucket(int rows) {
        int step = rows <= 128 ? 16 : rows <= 1024 ? 64 : 256;
        return Math.ceilDiv(rows, step) * step;
    }

    /**
     * Enqueues {@code output = input · weightᵀ}, summed in float32.
     * @param input      BF16 [≥ bucket(rows), depth]; what rows past {@code rows} hold does not matter
     * @param weight     BF16 [outputs, depth]
     * @param output     [≥ bucket(rows), outputs]; rows up to the bucket are written
     * @param outputType BF16 or F32
     */
    void multiply(CudaStream stream, DevicePointer input, DevicePointer weight, DevicePointer output,
            DataType outputType, int rows, int outputs, int depth) {
        throw new UnsupportedOperationException();
    }

    @Override
    void release() {
        throw new UnsupportedOperationException();
    }
}
