package dev.warmpath.worker.compute.cpu;

import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.Tensor;
import dev.warmpath.worker.compute.WeightFormat;
import java.lang.foreign.MemorySegment;

/** A weight matrix W [rows, columns] as a processor keeps it: zeros until rows are uploaded. */
abstract class CpuWeight implements Tensor {

    private final int rows;
    private final int columns;

    CpuWeight(int rows, int columns) {
        this.rows = rows;
        this.columns = columns;
    }

    /** Of rows that lie behind each other in {@code values}. */
    abstract void upload(int firstRow, int rowCount, WeightFormat format, MemorySegment values);

    /** Writes a row's values to {@code target}, from {@code start} on. */
    abstract void widenRow(int row, float[] target, int start);

    /** Values as they are computed with. */
    @Override
    public final DataType type() {
        return DataType.F32;
    }

    @Override
    public final int rows() {
        return rows;
    }

    @Override
    public final int columns() {
        return columns;
    }
}
