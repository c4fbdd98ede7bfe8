package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.Tensor;

/** A weight matrix on the card: bfloat16, row-major as it comes, an output a row. */
final class CudaWeight implements Tensor {

    final CudaDevice device;
    final DevicePointer memory;
    private final int rows;
    private final int columns;

    private CudaWeight(CudaDevice device, DevicePointer memory, int rows, int columns) {
        this.device = device;
        this.memory = memory;
        this.rows = rows;
        this.columns = columns;
    }

    /** Memory of undefined content. */
    static CudaWeight allocate(CudaDevice device, int rows, int columns) {
        var memory = device.allocate(bytes(rows, columns), "a weight of [%d, %d]".formatted(rows, columns));
        return new CudaWeight(device, memory, rows, columns);
    }

    static long bytes(int rows, int columns) {
        return (long) rows * columns * DataType.BF16.bytes();
    }

    DevicePointer rows(int firstRow, int rowCount) {
        long rowBytes = (long) columns * DataType.BF16.bytes();
        return memory.plus(firstRow * rowBytes, rowCount * rowBytes);
    }

    @Override
    public DataType type() {
        return DataType.BF16;
    }

    @Override
    public int rows() {
        return rows;
    }

    @Override
    public int columns() {
        return columns;
    }
}
