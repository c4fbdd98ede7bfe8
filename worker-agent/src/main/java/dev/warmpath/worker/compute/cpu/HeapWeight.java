package dev.warmpath.worker.compute.cpu;

import dev.warmpath.worker.compute.WeightFormat;
import java.lang.foreign.MemorySegment;

/**
 * A weight widened to float32, in one array, cut into panels of {@value #PANEL_WIDTH} rows and transposed inside each,
 * the last panel filled up with zeros: plain loops over neighbouring outputs are turned into vectors by the compiler.
 * <pre>
 *   panel p:  column 0: W[p·w][0] W[p·w+1][0] … W[p·w+w−1][0]    (w = PANEL_WIDTH)
 *             column 1: W[p·w][1] …
 * </pre>
 */
final class HeapWeight extends CpuWeight {

    static final int PANEL_WIDTH = 64;

    final float[] panels;

    HeapWeight(int rows, int columns) {
        super(rows, columns);
        this.panels = new float[Math.toIntExact(bytes(rows, columns) / Float.BYTES)];
    }

    /** What one of that size takes, its last panel filled up. */
    static long bytes(int rows, int columns) {
        return (long) Math.ceilDiv(rows, PANEL_WIDTH) * PANEL_WIDTH * columns * Float.BYTES;
    }

    /** Where element (row, 0) lies; element (row, c) is {@code c * PANEL_WIDTH} further on. */
    int rowStart(int row) {
        return row / PANEL_WIDTH * PANEL_WIDTH * columns() + row % PANEL_WIDTH;
    }

    @Override
    void upload(int firstRow, int rowCount, WeightFormat format, MemorySegment values) {
        float[] widened = new float[columns()];
        for (int row = 0; row < rowCount; row++) {
            format.widen(values, (long) row * columns(), columns(), widened);
            int start = rowStart(firstRow + row);
            for (int column = 0; column < columns(); column++) {
                panels[start + column * PANEL_WIDTH] = widened[column];
            }
        }
    }

    @Override
    void widenRow(int row, float[] target, int start) {
        int from = rowStart(row);
        for (int column = 0; column < columns(); column++) {
            target[start + column] = panels[from + column * PANEL_WIDTH];
        }
    }
}
