package dev.warmpath.worker.compute.cpu;

import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.Tensor;
import dev.warmpath.worker.compute.WeightFormat;
import java.lang.foreign.MemorySegment;

/**
 * A weight matrix W [rows, columns], cut into panels of {@code panelWidth} rows and transposed inside each, the last
 * panel filled up with zeros. The inner loop of x · Wᵀ then runs over neighbouring outputs: no sum is ever taken across
 * lanes, and each output is one chain of additions in the order of the columns, whatever the tile.
 * <pre>
 *   panel p:  column 0: W[p·w][0] W[p·w+1][0] … W[p·w+w−1][0]    (w = panelWidth)
 *             column 1: W[p·w][1] …
 * </pre>
 */
final class CpuWeight implements Tensor {

    final float[] panels;
    final int panelWidth;
    private final int rows;
    private final int columns;

    CpuWeight(int rows, int columns, int panelWidth) {
        this.rows = rows;
        this.columns = columns;
        this.panelWidth = panelWidth;
        this.panels = new float[Math.multiplyExact(paddedRows(rows, panelWidth), columns)];
    }

    /** Rows of whole panels. */
    static int paddedRows(int rows, int panelWidth) {
        return Math.multiplyExact(Math.ceilDiv(rows, panelWidth), panelWidth);
    }

    /** Where element (row, 0) lies; element (row, c) is {@code c * panelWidth} further on. */
    int rowStart(int row) {
        return row / panelWidth * panelWidth * columns + row % panelWidth;
    }

    void upload(int firstRow, int rowCount, WeightFormat format, MemorySegment values) {
        float[] widened = new float[columns];
        for (int row = 0; row < rowCount; row++) {
            format.widen(values, (long) row * columns, columns, widened);
            int start = rowStart(firstRow + row);
            for (int column = 0; column < columns; column++) {
                panels[start + column * panelWidth] = widened[column];
            }
        }
    }

    /** Values as this processor keeps them. */
    @Override
    public DataType type() {
        return DataType.F32;
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
