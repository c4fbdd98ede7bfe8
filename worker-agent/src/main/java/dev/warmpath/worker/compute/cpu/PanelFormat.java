package dev.warmpath.worker.compute.cpu;

import static dev.warmpath.worker.compute.cpu.VectorMath.LANES;

import dev.warmpath.worker.compute.WeightFormat;
import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;

/**
 * How a panel of a weight lies in memory: {@value #VECTORS} vectors of neighbouring rows of W, which are neighbouring
 * outputs of x · Wᵀ. Lanes run over outputs, so no sum is ever taken across lanes. A lane of 32 bits holds as many
 * neighbouring columns of its output as fit.
 *
 * <p>Whatever the format, a value is widened to the same float32 bits everywhere, and an output is one chain of fused
 * multiply-adds in the order of the columns.
 */
sealed interface PanelFormat permits PlainPanels, BlockPanels {

    int VECTORS = 4;
    /** Columns that are widened together. */
    int GROUP = 32;
    /** Outputs of a panel. */
    int WIDTH = VECTORS * LANES;
    int VECTOR_BYTES = LANES * Float.BYTES;
    /** A column of a panel where a value takes a lane. */
    int COLUMN_BYTES = WIDTH * Float.BYTES;

    /** All of them, numbered for files by their place here. */
    static List<PanelFormat> all() {
        return Stream.<PanelFormat>concat(Arrays.stream(PlainPanels.values()), Arrays.stream(BlockPanels.values()))
                .toList();
    }

    /** In which values of a format are kept: as they are, or widened to float32. */
    static PanelFormat of(WeightFormat format) {
        return switch (format) {
            case F32 -> PlainPanels.F32;
            case F16 -> PlainPanels.F16;
            case BF16 -> PlainPanels.BF16;
            case Q8_0 -> BlockPanels.Q8_0;
            case Q4_0 -> BlockPanels.Q4_0;
            case Q4_1 -> BlockPanels.Q4_1;
            case Q5_0 -> BlockPanels.Q5_0;
            case Q5_1 -> BlockPanels.Q5_1;
            case Q4_K -> BlockPanels.Q4_K;
            case Q5_K -> BlockPanels.Q5_K;
            case Q6_K -> BlockPanels.Q6_K;
        };
    }

    /** So many columns and as many as a last group lacks. */
    static int wholeGroups(int columns) {
        return Math.ceilDiv(columns, GROUP) * GROUP;
    }

    /** Memory of a panel. */
    long bytes(int columns);

    /**
     * Writes an output's row.
     * @param format whose values this one holds exactly
     * @param first  index of the row's first value in {@code values}
     */
    void pack(WeightFormat format, MemorySegment values, long first, int columns, int output, MemorySegment panel);

    /** One value. */
    float value(MemorySegment panel, int output, int column);

    /**
     * One row of x · Wᵀ: writes {@link #WIDTH} outputs.
     * @param x       {@code columns} values from {@code xStart} on
     * @param scratch room for a {@link #GROUP} of float32 columns
     */
    void multiply(MemorySegment panel, int columns, float[] x, int xStart, float[] y, int yStart,
                  MemorySegment scratch);

    /**
     * Widens some columns to the layout of {@link PlainPanels#F32}.
     * @param firstColumn a multiple of {@link #GROUP}
     * @param target      has room for {@link #wholeGroups whole groups} of columns
     */
    void widen(MemorySegment panel, int firstColumn, int count, MemorySegment target);

    static FloatVector floats(MemorySegment memory, long at) {
        return FloatVector.fromMemorySegment(VectorMath.SPECIES, memory, at, ByteOrder.nativeOrder());
    }

    static IntVector ints(MemorySegment memory, long at) {
        return IntVector.fromMemorySegment(VectorMath.INTS, memory, at, ByteOrder.nativeOrder());
    }

    static void put(FloatVector vector, MemorySegment memory, long at) {
        vector.intoMemorySegment(memory, at, ByteOrder.nativeOrder());
    }
}
