package dev.warmpath.worker.compute.cpu;

import static dev.warmpath.worker.compute.cpu.PanelFormat.floats;
import static dev.warmpath.worker.compute.cpu.PanelFormat.ints;
import static dev.warmpath.worker.compute.cpu.PanelFormat.put;
import static dev.warmpath.worker.compute.cpu.VectorMath.LANES;
import static dev.warmpath.worker.compute.cpu.VectorMath.SPECIES;
import static dev.warmpath.worker.compute.cpu.VectorMath.high;
import static dev.warmpath.worker.compute.cpu.VectorMath.low;

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
 * Panels whose values stand by themselves.
 * <pre>
 *   F32    column 0 of all outputs, column 1, …
 *   BF16   columns 0 (low half of a lane) and 1 (high half) of all outputs, columns 2 and 3, …
 *   F16    likewise, finite numbers only: to look for others while computing would take twice as long
 * </pre>
 */
enum PlainPanels implements PanelFormat {

    /** Nothing uploaded yet. */
    ZEROS {
        @Override
        public long bytes(int columns) {
            return 0;
        }

        @Override
        public void pack(WeightFormat format, MemorySegment values, long first, int columns, int output,
                         MemorySegment panel) {
            throw new IllegalStateException("a panel of zeros takes no rows");
        }

        @Override
        public float value(MemorySegment panel, int output, int column) {
            return 0;
        }

        @Override
        public void multiply(MemorySegment panel, int columns, float[] x, int xStart, float[] y, int yStart,
                             MemorySegment scratch) {
            Arrays.fill(y, yStart, yStart + WIDTH, 0);
        }

        @Override
        public void widen(MemorySegment panel, int firstColumn, int count, MemorySegment target) {
            target.asSlice(0, (long) count * COLUMN_BYTES).fill((byte) 0);
        }
    },
    F32 {
        @Override
        public long bytes(int columns) {
            return (long) columns * COLUMN_BYTES;
        }

        @Override
        public void pack(WeightFormat format, MemorySegment values, long first, int columns, int output,
                         MemorySegment panel) {
            float[] row = new float[columns];
            format.widen(values, first, columns, row);
            for (int column = 0; column < columns; column++) {
                panel.set(ValueLayout.JAVA_FLOAT, (long) column * COLUMN_BYTES + output * Float.BYTES, row[column]);
            }
        }

        @Override
        public float value(MemorySegment panel, int output, int column) {
            return panel.get(ValueLayout.JAVA_FLOAT, (long) column * COLUMN_BYTES + output * Float.BYTES);
        }

        @Override
        public void multiply(MemorySegment panel, int columns, float[] x, int xStart, float[] y, int yStart,
                             MemorySegment scratch) {
            var a0 = FloatVector.zero(SPECIES);
            var a1 = a0;
            var a2 = a0;
            var a3 = a0;
            // not k < columns: the compiler unrolls turns that it can count, which mixes up the order of loads, and a
            // processor fetches ahead for whoever reads in order; from memory that took 1.7 to 3 times as long
            for (int k = 0; k + 1 <= columns; k++) {
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
        public void widen(MemorySegment panel, int firstColumn, int count, MemorySegment target) {
            MemorySegment.copy(panel, (long) firstColumn * COLUMN_BYTES, target, 0, (long) count * COLUMN_BYTES);
        }
    },
    BF16 {
        @Override
        public long bytes(int columns) {
            return pairBytes(columns);
        }

        @Override
        public void pack(WeightFormat format, MemorySegment values, long first, int columns, int output,
                         MemorySegment panel) {
            packHalves(values, first, columns, output, panel);
        }

        @Override
        public float value(MemorySegment panel, int output, int column) {
            return Bf16.toFloat(panel.get(ValueLayout.JAVA_SHORT, halfAt(output, column)));
        }

        @Override
        public void multiply(MemorySegment panel, int columns, float[] x, int xStart, float[] y, int yStart,
                             MemorySegment scratch) {
            multiplyPairs(panel, columns >> 1, x, xStart, y, yStart);
            multiplyAddOdd(panel, columns, x, xStart, y, yStart);
        }

        private static void multiplyPairs(MemorySegment panel, int pairs, float[] x, int xStart,
                                          float[] y, int yStart) {
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
        public void widen(MemorySegment panel, int firstColumn, int count, MemorySegment target) {
            for (int k = 0; k < count; k += 2) {
                for (long i = 0; i < COLUMN_BYTES; i += VECTOR_BYTES) {
                    var pair = ints(panel, (long) (firstColumn + k >> 1) * COLUMN_BYTES + i);
                    put(low(pair), target, (long) k * COLUMN_BYTES + i);
                    put(high(pair), target, (long) (k + 1) * COLUMN_BYTES + i);
                }
            }
        }
    },
    F16 {
        /** From the exponent's bias in 16 bits to that in 32; a number without an exponent gets one, too. */
        private static final float REBIAS = 0x1p112f;
        /** Sign, exponent and fraction, three bits further down but for the sign. */
        private static final int KEPT = 0x8FFF_E000;

        @Override
        public long bytes(int columns) {
            return pairBytes(columns);
        }

        @Override
        public void pack(WeightFormat format, MemorySegment values, long first, int columns, int output,
                         MemorySegment panel) {
            packHalves(values, first, columns, output, panel);
        }

        @Override
        public float value(MemorySegment panel, int output, int column) {
            return Float.float16ToFloat(panel.get(ValueLayout.JAVA_SHORT, halfAt(output, column)));
        }

        @Override
        public void multiply(MemorySegment panel, int columns, float[] x, int xStart, float[] y, int yStart,
                             MemorySegment scratch) {
            multiplyPairs(panel, columns >> 1, x, xStart, y, yStart);
            multiplyAddOdd(panel, columns, x, xStart, y, yStart);
        }

        /** In words of the Vector API alone: with {@link #upperToFloats} eight times it takes seven times as long. */
        private static void multiplyPairs(MemorySegment panel, int pairs, float[] x, int xStart,
                                          float[] y, int yStart) {
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
                a0 = w0.lanewise(VectorOperators.LSHL, Short.SIZE).lanewise(VectorOperators.ASHR, 3).and(KEPT)
                        .reinterpretAsFloats().mul(REBIAS).fma(a, a0);
                a1 = w1.lanewise(VectorOperators.LSHL, Short.SIZE).lanewise(VectorOperators.ASHR, 3).and(KEPT)
                        .reinterpretAsFloats().mul(REBIAS).fma(a, a1);
                a2 = w2.lanewise(VectorOperators.LSHL, Short.SIZE).lanewise(VectorOperators.ASHR, 3).and(KEPT)
                        .reinterpretAsFloats().mul(REBIAS).fma(a, a2);
                a3 = w3.lanewise(VectorOperators.LSHL, Short.SIZE).lanewise(VectorOperators.ASHR, 3).and(KEPT)
                        .reinterpretAsFloats().mul(REBIAS).fma(a, a3);
                var b = FloatVector.broadcast(SPECIES, x[xStart + 2 * pair + 1]);
                a0 = w0.lanewise(VectorOperators.ASHR, 3).and(KEPT).reinterpretAsFloats().mul(REBIAS).fma(b, a0);
                a1 = w1.lanewise(VectorOperators.ASHR, 3).and(KEPT).reinterpretAsFloats().mul(REBIAS).fma(b, a1);
                a2 = w2.lanewise(VectorOperators.ASHR, 3).and(KEPT).reinterpretAsFloats().mul(REBIAS).fma(b, a2);
                a3 = w3.lanewise(VectorOperators.ASHR, 3).and(KEPT).reinterpretAsFloats().mul(REBIAS).fma(b, a3);
            }
            a0.intoArray(y, yStart);
            a1.intoArray(y, yStart + LANES);
            a2.intoArray(y, yStart + 2 * LANES);
            a3.intoArray(y, yStart + 3 * LANES);
        }

        @Override
        public void widen(MemorySegment panel, int firstColumn, int count, MemorySegment target) {
            for (int k = 0; k < count; k += 2) {
                for (long i = 0; i < COLUMN_BYTES; i += VECTOR_BYTES) {
                    var pair = ints(panel, (long) (firstColumn + k >> 1) * COLUMN_BYTES + i);
                    var first = pair.lanewise(VectorOperators.LSHL, Short.SIZE);
                    put(upperToFloats(first), target, (long) k * COLUMN_BYTES + i);
                    put(upperToFloats(pair), target, (long) (k + 1) * COLUMN_BYTES + i);
                }
            }
        }

        /** Exponent and fraction go three bits down, the sign stays. */
        private static FloatVector upperToFloats(IntVector pair) {
            return pair.lanewise(VectorOperators.ASHR, 3).and(KEPT).reinterpretAsFloats().mul(REBIAS);
        }
    };

    /** Of binary16, where infinities and what is no number have it. */
    private static final int LARGEST_EXPONENT = 0x7C00;
    private static final ValueLayout.OfShort LITTLE_ENDIAN_SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    /** Whether each of the values has a place in panels of {@link #F16}. */
    static boolean areFiniteF16(MemorySegment values, long first, long end) {
        for (long i = first; i < end; i++) {
            if ((values.get(LITTLE_ENDIAN_SHORT, i * Short.BYTES) & LARGEST_EXPONENT) == LARGEST_EXPONENT) {
                return false;
            }
        }
        return true;
    }

    private static long pairBytes(int columns) {
        return (long) Math.ceilDiv(columns, 2) * COLUMN_BYTES;
    }

    private static void packHalves(MemorySegment values, long first, int columns, int output, MemorySegment panel) {
        for (int column = 0; column < columns; column++) {
            panel.set(ValueLayout.JAVA_SHORT, halfAt(output, column),
                    values.get(LITTLE_ENDIAN_SHORT, (first + column) * Short.BYTES));
        }
    }

    private static long halfAt(int output, int column) {
        int half = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN ? column & 1 : ~column & 1;
        return (long) (column >> 1) * COLUMN_BYTES + output * Integer.BYTES + half * Short.BYTES;
    }

    /** The last column where it is half of a pair. */
    void multiplyAddOdd(MemorySegment panel, int columns, float[] x, int xStart, float[] y, int yStart) {
        if ((columns & 1) == 0) {
            return;
        }
        for (int output = 0; output < WIDTH; output++) {
            y[yStart + output] = Math.fma(value(panel, output, columns - 1), x[xStart + columns - 1],
                    y[yStart + output]);
        }
    }
}
