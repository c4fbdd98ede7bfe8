package dev.warmpath.worker.compute.cpu;

import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.Tensor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** A row-major matrix in the one array that its type asks for; the other two are empty. */
final class CpuTensor implements Tensor {

    final float[] floats;
    final int[] ints;
    final long[] longs;
    private final DataType type;
    private final int rows;
    private final int columns;

    CpuTensor(DataType type, int rows, int columns) {
        int size = Math.multiplyExact(rows, columns);
        this.type = type;
        this.rows = rows;
        this.columns = columns;
        this.floats = new float[type == DataType.F32 ? size : 0];
        this.ints = new int[type == DataType.I32 ? size : 0];
        this.longs = new long[type == DataType.I64 ? size : 0];
    }

    void write(MemorySegment values) {
        int count = Math.toIntExact(values.byteSize() / type.bytes());
        switch (type) {
            case F32 -> MemorySegment.copy(values, ValueLayout.JAVA_FLOAT_UNALIGNED, 0, floats, 0, count);
            case I32 -> MemorySegment.copy(values, ValueLayout.JAVA_INT_UNALIGNED, 0, ints, 0, count);
            case I64 -> MemorySegment.copy(values, ValueLayout.JAVA_LONG_UNALIGNED, 0, longs, 0, count);
            case BF16 -> throw new IllegalArgumentException("processors keep no BF16 activations");
        }
    }

    void read(int rowCount, MemorySegment values) {
        int count = rowCount * columns;
        switch (type) {
            case F32 -> MemorySegment.copy(floats, 0, values, ValueLayout.JAVA_FLOAT_UNALIGNED, 0, count);
            case I32 -> MemorySegment.copy(ints, 0, values, ValueLayout.JAVA_INT_UNALIGNED, 0, count);
            case I64 -> MemorySegment.copy(longs, 0, values, ValueLayout.JAVA_LONG_UNALIGNED, 0, count);
            case BF16 -> throw new IllegalArgumentException("processors keep no BF16 activations");
        }
    }

    @Override
    public DataType type() {
        return type;
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
