package dev.warmpath.worker.compute.cpu;

import static dev.warmpath.worker.compute.cpu.VectorMath.LANES;
import static dev.warmpath.worker.compute.cpu.VectorMath.SPECIES;

import dev.warmpath.worker.compute.Bf16;
import dev.warmpath.worker.compute.WeightFormat;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Arrays;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;

/**
 * How a panel of a weight lies in memory: {@value #VECTORS} vectors of neighbouring rows of W, which are neighbouring
 * outputs of x · Wᵀ, column after column. Lanes run over outputs, so no sum is ever taken across lanes. A lane of 32 bits
 * holds as many neighbouring columns of its output as fit.
 * <pre>
 *   F32    column 0 of all outputs, column 1, …
 *   BF16   columns 0 (low half of a lane) and 1 (high half) of all outputs, columns 2 and 3, …
 * </pre>
 * Whatever the format, a value is widened to the same float32 bits everywhere, and an output is one chain of fused
 * multiply-adds in the order of the columns.
 */
enum PanelFormat {

    /** Nothing uploaded yet. */
    ZEROS {
        @Override
        long bytes(int columns) {
            return 0;
        }

        @Override
        float value(MemorySegment panel, int output, int column) {
            return 0;
        }

        @Override
        void multiply(MemorySegment panel, int columns, float[] x, int xStart, float[] y, int yStart) {
            Arrays.fill(y, yStart, yStart + WIDTH, 0);
        }

        @Override
        void widen(MemorySegment panel, int firstColumn, int count, MemorySegment target) {
            target.asSlice(0, (long) count * COLUMN_BYTES).fill((byte) 0);
        }
    },
    F32 {
        @Override
        long bytes(int columns) {
            return (long) columns * COLUMN_BYTES;
        }

        @Override
        void pack(float[] row, int output, MemorySegment panel) {
            for (int column = 0; column < row.length; column++) {
                panel.set(ValueLayout.JAVA_FLOAT, (long) column * COLUMN_BYTES + output * Float.BYTES, row[column]);
            }
        }

        @Override
        float value(MemorySegment panel, int output, int column) {
            return panel.get(ValueLayout.JAVA_FLOAT, (long) column * COLUMN_BYTES + output * Float.BYTES);
        }

        @Override
        void multiply(MemorySegment panel, int columns, float[] x, int xStart, float[] y, int yStart) {
            var a0 = FloatVector.zero(SPECIES);
            var a1 = a0;
            var a2 = a0;
            var a3 = a0;
            for (int k = 0; k < columns; k++) {
                long at = (long) k * COLUMN_BYTES;
                var a = FloatVector.broadcast(SPECIES, x[xStart + k]);
                a0 = floats(panel, at).fma(a, a0);
                a1 = floats(panel, at + VECTOR_BYTES).fma(a, a1);
                a2 = floats(panel, at + 2 * VECTOR_BYTES).fma(a, a2);
                a3 = floats(panel, at + 3 * VECTOR_BYTES).fma(a, a3);
            }
            a0.intoArray(y, yStart);
            a1.intoArray(y, yStart + LANES);
            a2.intoArray(y, yStart + 2 * LANES);
            a3.intoArray(y, yStart + 3 * LANES);
        }

        @Override
        void widen(MemorySegment panel, int firstColumn, int count, MemorySegment target) {
            MemorySegment.copy(panel, (long) firstColumn * COLUMN_BYTES, target, 0, (long) count * COLUMN_BYTES);
        }
    },
    BF16 {
        @Override
        long bytes(int columns) {
            return (long) Math.ceilDiv(columns, 2) * COLUMN_BYTES;
        }

        @Override
        void pack(float[] row, int output, MemorySegment panel) {
            for (int column = 0; column < row.length; column++) {
                panel.set(ValueLayout.JAVA_SHORT, at(output, column), Bf16.of(row[column]));
            }
        }

        @Override
        float value(MemorySegment panel, int output, int column) {
            return Bf16.toFloat(panel.get(ValueLayout.JAVA_SHORT, at(output, column)));
        }

        private static long at(int output, int column) {
            int half = NATIVE == ByteOrder.LITTLE_ENDIAN ? column & 1 : ~column & 1;
            return (long) (column >> 1) * COLUMN_BYTES + output * Integer.BYTES + half * Short.BYTES;
        }

        @Override
        void multiply(MemorySegment panel, int columns, float[] x, int xStart, float[] y, int yStart) {
            multiplyPairs(panel, columns >> 1, x, xStart, y, yStart);
            if ((columns & 1) != 0) {
                float last = x[xStart + columns - 1];
                for (int output = 0; output < WIDTH; output++) {
                    y[yStart + output] = Math.fma(value(panel, output, columns - 1), last, y[yStart + output]);
                }
            }
        }

        private static void multiplyPairs(MemorySegment panel, int pairs, float[] x, int xStart, float[] y, int yStart) {
            var a0 = FloatVector.zero(SPECIES);
            var a1 = a0;
            var a2 = a0;
            var a3 = a0;
            for (int pair = 0; pair < pairs; pair++) {
                long at = (long) pair * COLUMN_BYTES;
                var w0 = ints(panel, at);
                var w1 = ints(panel, at + VECTOR_BYTES);
                var w2 = ints(panel, at + 2 * VECTOR_BYTES);
                var w3 = ints(panel, at + 3 * VECTOR_BYTES);
                var a = FloatVector.broadcast(SPECIES, x[xStart + 2 * pair]);
                a0 = low(w0).fma(a, a0);
                a1 = low(w1).fma(a, a1);
                a2 = low(w2).fma(a, a2);
                a3 = low(w3).fma(a, a3);
                var b = FloatVector.broadcast(SPECIES, x[xStart + 2 * pair + 1]);
                a0 = high(w0).fma(b, a0);
                a1 = high(w1).fma(b, a1);
                a2 = high(w2).fma(b, a2);
                a3 = high(w3).fma(b, a3);
            }
            a0.intoArray(y, yStart);
            a1.intoArray(y, yStart + LANES);
            a2.intoArray(y, yStart + 2 * LANES);
            a3.intoArray(y, yStart + 3 * LANES);
        }

        @Override
        void widen(MemorySegment panel, int firstColumn, int count, MemorySegment target) {
            for (int k = 0; k < count; k += 2) {
                for (long i = 0; i < COLUMN_BYTES; i += VECTOR_BYTES) {
                    var pair = ints(panel, (long) (firstColumn + k >> 1) * COLUMN_BYTES + i);
                    put(low(pair), target, (long) k * COLUMN_BYTES + i);
                    put(high(pair), target, (long) (k + 1) * COLUMN_BYTES + i);
                }
            }
        }

        private static FloatVector low(IntVector pair) {
            return pair.lanewise(VectorOperators.LSHL, Short.SIZE).reinterpretAsFloats();
        }

        private static FloatVector high(IntVector pair) {
            return pair.and(0xFFFF_0000).reinterpretAsFloats();
        }
    };

    private static final int VECTORS = 4;
    /** Columns that are widened together. */
    static final int GROUP = 32;
    /** Outputs of a panel. */
    static final int WIDTH = VECTORS * LANES;
    static final int VECTOR_BYTES = LANES * Float.BYTES;
    /** A column of a panel where a value takes a lane. */
    static final int COLUMN_BYTES = WIDTH * Float.BYTES;
    private static final ByteOrder NATIVE = ByteOrder.nativeOrder();

    /** In which values of a format are kept: as they are, or widened to float32. */
    static PanelFormat of(WeightFormat format) {
        return format == WeightFormat.BF16 ? BF16 : F32;
    }

    /** So many columns and as many as a last group lacks. */
    static int wholeGroups(int columns) {
        return Math.ceilDiv(columns, GROUP) * GROUP;
    }

    /** Memory of a panel. */
    abstract long bytes(int columns);

    /** Writes an output's row, whose values this format holds exactly. */
    void pack(float[] row, int output, MemorySegment panel) {
        throw new UnsupportedOperationException(this + " takes no rows");
    }

    /** One value. */
    abstract float value(MemorySegment panel, int output, int column);

    /**
     * One row of x · Wᵀ.
     * @param x     {@code columns} values from {@code xStart} on
     * @param width outputs to write to {@code y}, 1 up to {@link #WIDTH}
     */
    abstract void multiply(MemorySegment panel, int columns, float[] x, int xStart, float[] y, int yStart);

    /**
     * Widens some columns to the layout of {@link #F32}.
     * @param firstColumn a multiple of {@link #GROUP}
     * @param target      has room for {@link #wholeGroups whole groups} of columns
     */
    abstract void widen(MemorySegment panel, int firstColumn, int count, MemorySegment target);

    private static FloatVector floats(MemorySegment memory, long at) {
        return FloatVector.fromMemorySegment(SPECIES, memory, at, NATIVE);
    }

    private static IntVector ints(MemorySegment memory, long at) {
        return IntVector.fromMemorySegment(IntVector.SPECIES_PREFERRED, memory, at, NATIVE);
    }

    private static void put(FloatVector vector, MemorySegment memory, long at) {
        vector.intoMemorySegment(memory, at, NATIVE);
    }
}
