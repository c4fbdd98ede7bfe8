package dev.warmpath.worker.compute.cpu;

import static dev.warmpath.worker.compute.cpu.PanelFormat.floats;
import static dev.warmpath.worker.compute.cpu.PanelFormat.ints;
import static dev.warmpath.worker.compute.cpu.PanelFormat.put;
import static dev.warmpath.worker.compute.cpu.VectorMath.INTS;
import static dev.warmpath.worker.compute.cpu.VectorMath.LANES;
import static dev.warmpath.worker.compute.cpu.VectorMath.SPECIES;

import dev.warmpath.worker.compute.WeightBlock;
import dev.warmpath.worker.compute.WeightFormat;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Arrays;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;

/**
 * Panels of values that share scales, see {@link WeightBlock}: block after block of columns, in the order in which they
 * are read, for a processor fetches ahead only what lies in a row. A line is a lane for each output.
 * <pre>
 *   1 line     scales, float32
 *   1 line     minimums, float32, where the format has any
 *   lines      scales of groups, 4 to a lane, the first lowest, where the format has groups
 *   lines      minimums of groups, likewise
 *   for each group:
 *     1 line   upper bits, of the first code in the fifth bit (and sixth), and so on, all the way round, where the
 *              format has any
 *     lines    codes, from the lowest bits of a lane on: 4 of 8 bits, or the lower four bits of 8
 * </pre>
 */
enum BlockPanels implements PanelFormat {
    Q8_0(WeightFormat.Q8_0),
    Q4_0(WeightFormat.Q4_0),
    Q4_1(WeightFormat.Q4_1),
    Q5_0(WeightFormat.Q5_0),
    Q5_1(WeightFormat.Q5_1),
    Q4_K(WeightFormat.Q4_K),
    Q5_K(WeightFormat.Q5_K),
    Q6_K(WeightFormat.Q6_K);

    private static final ByteOrder NATIVE = ByteOrder.nativeOrder();
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
    private static final int BYTES_A_LANE = 4;
    private static final int NIBBLES_A_LANE = 8;
    private static final int NIBBLE = 4;
    /** A group's scales and minimums as float32. */
    private static final int HEAD_LINES = 2;

    private final WeightFormat format;
    private final int blockColumns;
    private final int groupColumns;
    private final int codeBits;
    private final boolean hasMinimum;
    private final boolean hasGroups;
    private final int groups;
    /** Lines of a block before its groups. */
    private final int headLines;
    /** Of a group, without that of upper bits. */
    private final int codeLines;
    private final int groupLines;
    private final int codesALane;
    /** From a group's codes to those of the next group that is multiplied with it. */
    private final long groupStride;
    /** Likewise of its scales, in the panel or where {@link #widenHead} writes them. */
    private final long headStride;
    /** Minimums lie so far behind the scales and are multiplied by that much: where there are none, scales stand in. */
    private final long minimumOffset;
    private final float minimumFactor;

    BlockPanels(WeightFormat format) {
        this.format = format;
        this.blockColumns = format.blockElements();
        this.groupColumns = format.groupElements();
        this.codeBits = format.codeBits();
        this.hasMinimum = format.hasMinimum();
        this.hasGroups = format.hasGroups();
        this.groups = blockColumns / groupColumns;
        int numbers = hasMinimum ? 2 : 1;
        this.headLines = numbers * (1 + (hasGroups ? groups / BYTES_A_LANE : 0));
        this.codesALane = codeBits == Byte.SIZE ? BYTES_A_LANE : NIBBLES_A_LANE;
        this.codeLines = groupColumns / codesALane;
        this.groupLines = codeLines + (hasUpperBits() ? 1 : 0);
        this.groupStride = hasGroups ? (long) groupLines * COLUMN_BYTES : blockBytes();
        this.headStride = hasGroups ? (long) HEAD_LINES * COLUMN_BYTES : blockBytes();
        this.minimumOffset = hasGroups || hasMinimum ? COLUMN_BYTES : 0;
        this.minimumFactor = hasGroups || hasMinimum ? 1 : -format.codeOffset();
    }

    private boolean hasUpperBits() {
        return codeBits > NIBBLE && codeBits < Byte.SIZE;
    }

    private long blockBytes() {
        return (long) (headLines + groups * groupLines) * COLUMN_BYTES;
    }

    private long blockStart(int column) {
        return column / blockColumns * blockBytes();
    }

    private int groupOf(int column) {
        return column % blockColumns / groupColumns;
    }

    private long groupStart(long block, int group) {
        return block + (long) (headLines + group * groupLines) * COLUMN_BYTES;
    }

    /** Line of a head in which a group's scale is. */
    private int scaleLine(int group) {
        return (hasMinimum ? 2 : 1) + group / BYTES_A_LANE;
    }

    private int minimumLine(int group) {
        return scaleLine(group) + groups / BYTES_A_LANE;
    }

    @Override
    public long bytes(int columns) {
        return Math.ceilDiv(columns, blockColumns) * blockBytes();
    }

    @Override
    public void pack(WeightFormat rowFormat, MemorySegment values, long first, int columns, int output,
                     MemorySegment panel) {
        if (rowFormat != format) {
            throw new IllegalArgumentException(this + " takes no rows of " + rowFormat);
        }
        long lane = (long) output * Integer.BYTES;
        var block = new WeightBlock(format);
        var head = new int[headLines];
        var codes = new int[groupLines];
        for (int column = 0; column < columns; column += blockColumns) {
            format.read(values, (first + column) / blockColumns, block);
            long at = blockStart(column) + lane;
            packHead(block, head);
            setLanes(panel, at, head);
            for (int group = 0; group < groups; group++) {
                packCodes(block, group, codes);
                setLanes(panel, groupStart(at, group), codes);
            }
        }
    }

    private static void setLanes(MemorySegment panel, long at, int[] lanes) {
        for (int line = 0; line < lanes.length; line++) {
            panel.set(INT, at + (long) line * COLUMN_BYTES, lanes[line]);
        }
    }

    private void packHead(WeightBlock block, int[] head) {
        Arrays.fill(head, 0);
        head[0] = Float.floatToRawIntBits(block.scale());
        if (hasMinimum) {
            head[1] = Float.floatToRawIntBits(block.minimum());
        }
        for (int group = 0; hasGroups && group < groups; group++) {
            int shift = group % BYTES_A_LANE * Byte.SIZE;
            head[scaleLine(group)] |= (block.groupScale(group) & 255) << shift;
            if (hasMinimum) {
                head[minimumLine(group)] |= (block.groupMinimum(group) & 255) << shift;
            }
        }
    }

    private void packCodes(WeightBlock block, int group, int[] codes) {
        Arrays.fill(codes, 0);
        int first = groupLines - codeLines;
        for (int i = 0; i < groupColumns; i++) {
            int code = block.code(group * groupColumns + i);
            if (codeBits == Byte.SIZE) {
                codes[first + i / BYTES_A_LANE] |= code << i % BYTES_A_LANE * Byte.SIZE;
            } else {
                codes[first + i / NIBBLES_A_LANE] |= (code & 15) << i % NIBBLES_A_LANE * NIBBLE;
            }
            if (hasUpperBits()) {
                codes[0] |= Integer.rotateLeft(code & ~15, i * (codeBits - NIBBLE));
            }
        }
    }

    @Override
    public float value(MemorySegment panel, int output, int column) {
        int group = groupOf(column);
        long block = blockStart(column) + (long) output * Integer.BYTES;
        float scale = Float.intBitsToFloat(lane(panel, block, 0));
        float minimum = hasMinimum ? Float.intBitsToFloat(lane(panel, block, 1)) : -0f;
        if (hasGroups) {
            int shift = group % BYTES_A_LANE * Byte.SIZE;
            scale *= (byte) (lane(panel, block, scaleLine(group)) >>> shift);
            minimum *= hasMinimum ? (byte) (lane(panel, block, minimumLine(group)) >>> shift) : 1;
        }
        int code = code(panel, groupStart(block, group), column % groupColumns);
        return scale * (code - format.codeOffset()) + minimum;
    }

    private int code(MemorySegment panel, long group, int i) {
        int lane = lane(panel, group, groupLines - codeLines + i / codesALane);
        if (codeBits == Byte.SIZE) {
            return lane >>> i % BYTES_A_LANE * Byte.SIZE & 255;
        }
        int lower = lane >>> i % NIBBLES_A_LANE * NIBBLE & 15;
        if (!hasUpperBits()) {
            return lower;
        }
        int upper = Integer.rotateRight(lane(panel, group, 0), i * (codeBits - NIBBLE));
        return lower | upper & (1 << codeBits) - 1 & ~15;
    }

    private static int lane(MemorySegment panel, long at, int line) {
        return panel.get(INT, at + (long) line * COLUMN_BYTES);
    }

    @Override
    public void multiply(MemorySegment panel, int columns, float[] x, int xStart, float[] y, int yStart,
                         MemorySegment scratch) {
        Arrays.fill(y, yStart, yStart + WIDTH, 0);
        if (!hasGroups) {
            multiplyGroups(panel, groupStart(0, 0), columns / groupColumns, panel, x, xStart, y, yStart);
            return;
        }
        for (int column = 0; column < columns; column += blockColumns) {
            long block = blockStart(column);
            for (int group = 0; group < groups; group++) {
                widenHead(panel, block, group, scratch);
            }
            multiplyGroups(panel, groupStart(block, 0), groups, scratch, x, xStart + column, y, yStart);
        }
    }

    private void multiplyGroups(MemorySegment panel, long first, int count, MemorySegment heads,
                                float[] x, int xStart, float[] y, int yStart) {
        if (hasUpperBits()) {
            multiplyUpperBits(panel, first, count, heads, x, xStart, y, yStart);
        } else {
            multiplyCodes(panel, first, count, heads, x, xStart, y, yStart);
        }
    }

    /** A group's scales, one vector after the other, and its minimums. */
    private void widenHead(MemorySegment panel, long block, int group, MemorySegment heads) {
        long at = group * headStride;
        for (int vector = 0; vector < VECTORS; vector++) {
            var scale = scale(panel, block, group, vector);
            put(scale, heads, at + (long) vector * VECTOR_BYTES);
            put(minimum(panel, block, group, vector, scale), heads, at + COLUMN_BYTES + (long) vector * VECTOR_BYTES);
        }
    }

    // Groups for all of a panel's vectors at once, widened and multiplied in registers: to store what was widened takes
    // as long as all of its arithmetic, and with one vector or two the additions would wait for each other. Only the
    // Vector API's own methods are called: others are no longer inlined where a method has grown to 18,000 nodes of the
    // compiler's, and vectors that go to them become objects.

    private void multiplyCodes(MemorySegment panel, long first, int count, MemorySegment heads,
                               float[] x, int xStart, float[] y, int yStart) {
        int mask = (1 << codeBits) - 1;
        var a0 = FloatVector.fromArray(SPECIES, y, yStart);
        var a1 = FloatVector.fromArray(SPECIES, y, yStart + LANES);
        var a2 = FloatVector.fromArray(SPECIES, y, yStart + 2 * LANES);
        var a3 = FloatVector.fromArray(SPECIES, y, yStart + 3 * LANES);
        var factor = FloatVector.broadcast(SPECIES, minimumFactor);
        int k = xStart;
        for (int group = 0; group < count; group++) {
            long head = group * headStride;
            long minimum = head + minimumOffset;
            var s0 = FloatVector.fromMemorySegment(SPECIES, heads, head, NATIVE);
            var m0 = FloatVector.fromMemorySegment(SPECIES, heads, minimum, NATIVE).mul(factor);
            var s1 = FloatVector.fromMemorySegment(SPECIES, heads, head + VECTOR_BYTES, NATIVE);
            var m1 = FloatVector.fromMemorySegment(SPECIES, heads, minimum + VECTOR_BYTES, NATIVE).mul(factor);
            var s2 = FloatVector.fromMemorySegment(SPECIES, heads, head + 2 * VECTOR_BYTES, NATIVE);
            var m2 = FloatVector.fromMemorySegment(SPECIES, heads, minimum + 2 * VECTOR_BYTES, NATIVE).mul(factor);
            var s3 = FloatVector.fromMemorySegment(SPECIES, heads, head + 3 * VECTOR_BYTES, NATIVE);
            var m3 = FloatVector.fromMemorySegment(SPECIES, heads, minimum + 3 * VECTOR_BYTES, NATIVE).mul(factor);
            long codes = first + group * groupStride;
            for (int line = 0; line < codeLines; line++) {
                long at = codes + (long) line * COLUMN_BYTES;
                var c0 = IntVector.fromMemorySegment(INTS, panel, at, NATIVE);
                var c1 = IntVector.fromMemorySegment(INTS, panel, at + VECTOR_BYTES, NATIVE);
                var c2 = IntVector.fromMemorySegment(INTS, panel, at + 2 * VECTOR_BYTES, NATIVE);
                var c3 = IntVector.fromMemorySegment(INTS, panel, at + 3 * VECTOR_BYTES, NATIVE);
                for (int end = k + codesALane; k < end;) {
                    for (int i = 0; i < BYTES_A_LANE; i++) {
                        var a = FloatVector.broadcast(SPECIES, x[k++]);
                        a0 = ((FloatVector) c0.and(mask).convert(VectorOperators.I2F, 0)).fma(s0, m0).fma(a, a0);
                        a1 = ((FloatVector) c1.and(mask).convert(VectorOperators.I2F, 0)).fma(s1, m1).fma(a, a1);
                        a2 = ((FloatVector) c2.and(mask).convert(VectorOperators.I2F, 0)).fma(s2, m2).fma(a, a2);
                        a3 = ((FloatVector) c3.and(mask).convert(VectorOperators.I2F, 0)).fma(s3, m3).fma(a, a3);
                        c0 = c0.lanewise(VectorOperators.LSHR, codeBits);
                        c1 = c1.lanewise(VectorOperators.LSHR, codeBits);
                        c2 = c2.lanewise(VectorOperators.LSHR, codeBits);
                        c3 = c3.lanewise(VectorOperators.LSHR, codeBits);
                    }
                }
            }
        }
        a0.intoArray(y, yStart);
        a1.intoArray(y, yStart + LANES);
        a2.intoArray(y, yStart + 2 * LANES);
        a3.intoArray(y, yStart + 3 * LANES);
    }

    private void multiplyUpperBits(MemorySegment panel, long first, int count, MemorySegment heads,
                                   float[] x, int xStart, float[] y, int yStart) {
        int upperBits = codeBits - NIBBLE;
        int upperMask = (1 << upperBits) - 1 << NIBBLE;
        var a0 = FloatVector.fromArray(SPECIES, y, yStart);
        var a1 = FloatVector.fromArray(SPECIES, y, yStart + LANES);
        var a2 = FloatVector.fromArray(SPECIES, y, yStart + 2 * LANES);
        var a3 = FloatVector.fromArray(SPECIES, y, yStart + 3 * LANES);
        var factor = FloatVector.broadcast(SPECIES, minimumFactor);
        int k = xStart;
        for (int group = 0; group < count; group++) {
            long head = group * headStride;
            long minimum = head + minimumOffset;
            var s0 = FloatVector.fromMemorySegment(SPECIES, heads, head, NATIVE);
            var m0 = FloatVector.fromMemorySegment(SPECIES, heads, minimum, NATIVE).mul(factor);
            var s1 = FloatVector.fromMemorySegment(SPECIES, heads, head + VECTOR_BYTES, NATIVE);
            var m1 = FloatVector.fromMemorySegment(SPECIES, heads, minimum + VECTOR_BYTES, NATIVE).mul(factor);
            var s2 = FloatVector.fromMemorySegment(SPECIES, heads, head + 2 * VECTOR_BYTES, NATIVE);
            var m2 = FloatVector.fromMemorySegment(SPECIES, heads, minimum + 2 * VECTOR_BYTES, NATIVE).mul(factor);
            var s3 = FloatVector.fromMemorySegment(SPECIES, heads, head + 3 * VECTOR_BYTES, NATIVE);
            var m3 = FloatVector.fromMemorySegment(SPECIES, heads, minimum + 3 * VECTOR_BYTES, NATIVE).mul(factor);
            long upper = first + group * groupStride;
            var u0 = IntVector.fromMemorySegment(INTS, panel, upper, NATIVE);
            var u1 = IntVector.fromMemorySegment(INTS, panel, upper + VECTOR_BYTES, NATIVE);
            var u2 = IntVector.fromMemorySegment(INTS, panel, upper + 2 * VECTOR_BYTES, NATIVE);
            var u3 = IntVector.fromMemorySegment(INTS, panel, upper + 3 * VECTOR_BYTES, NATIVE);
            for (int line = 0; line < codeLines; line++) {
                long at = upper + (line + 1L) * COLUMN_BYTES;
                var c0 = IntVector.fromMemorySegment(INTS, panel, at, NATIVE);
                var c1 = IntVector.fromMemorySegment(INTS, panel, at + VECTOR_BYTES, NATIVE);
                var c2 = IntVector.fromMemorySegment(INTS, panel, at + 2 * VECTOR_BYTES, NATIVE);
                var c3 = IntVector.fromMemorySegment(INTS, panel, at + 3 * VECTOR_BYTES, NATIVE);
                for (int i = 0; i < NIBBLES_A_LANE; i++) {
                    var a = FloatVector.broadcast(SPECIES, x[k++]);
                    var f0 = (FloatVector) c0.and(15).or(u0.and(upperMask)).convert(VectorOperators.I2F, 0);
                    a0 = f0.fma(s0, m0).fma(a, a0);
                    var f1 = (FloatVector) c1.and(15).or(u1.and(upperMask)).convert(VectorOperators.I2F, 0);
                    a1 = f1.fma(s1, m1).fma(a, a1);
                    var f2 = (FloatVector) c2.and(15).or(u2.and(upperMask)).convert(VectorOperators.I2F, 0);
                    a2 = f2.fma(s2, m2).fma(a, a2);
                    var f3 = (FloatVector) c3.and(15).or(u3.and(upperMask)).convert(VectorOperators.I2F, 0);
                    a3 = f3.fma(s3, m3).fma(a, a3);
                    c0 = c0.lanewise(VectorOperators.LSHR, NIBBLE);
                    c1 = c1.lanewise(VectorOperators.LSHR, NIBBLE);
                    c2 = c2.lanewise(VectorOperators.LSHR, NIBBLE);
                    c3 = c3.lanewise(VectorOperators.LSHR, NIBBLE);
                    u0 = u0.lanewise(VectorOperators.ROR, upperBits);
                    u1 = u1.lanewise(VectorOperators.ROR, upperBits);
                    u2 = u2.lanewise(VectorOperators.ROR, upperBits);
                    u3 = u3.lanewise(VectorOperators.ROR, upperBits);
                }
            }
        }
        a0.intoArray(y, yStart);
        a1.intoArray(y, yStart + LANES);
        a2.intoArray(y, yStart + 2 * LANES);
        a3.intoArray(y, yStart + 3 * LANES);
    }

    @Override
    public void widen(MemorySegment panel, int firstColumn, int count, MemorySegment target) {
        for (int done = 0; done < count; done += groupColumns) {
            long block = blockStart(firstColumn + done);
            int group = groupOf(firstColumn + done);
            for (int vector = 0; vector < VECTORS; vector++) {
                long to = (long) done * COLUMN_BYTES + vector * VECTOR_BYTES;
                if (codeBits == Byte.SIZE) {
                    widenBytes(panel, block, group, vector, target, to);
                } else if (hasUpperBits()) {
                    widenUpperBits(panel, block, group, vector, target, to);
                } else {
                    widenNibbles(panel, block, group, vector, target, to);
                }
            }
        }
    }

    // One vector of outputs in a group, code · scale + minimum. These are compiled by themselves, so that vectors among
    // their arguments would be objects.

    private void widenBytes(MemorySegment panel, long block, int group, int vector, MemorySegment target, long to) {
        var scale = scale(panel, block, group, vector);
        var minimum = minimum(panel, block, group, vector, scale);
        long codes = groupStart(block, group) + (long) vector * VECTOR_BYTES;
        long at = to;
        for (int line = 0; line < codeLines; line++) {
            var four = ints(panel, codes + (long) line * COLUMN_BYTES);
            for (int i = 0; i < BYTES_A_LANE; i++) {
                put(toFloats(four.and(255)).fma(scale, minimum), target, at);
                four = four.lanewise(VectorOperators.LSHR, Byte.SIZE);
                at += COLUMN_BYTES;
            }
        }
    }

    private void widenNibbles(MemorySegment panel, long block, int group, int vector, MemorySegment target, long to) {
        var scale = scale(panel, block, group, vector);
        var minimum = minimum(panel, block, group, vector, scale);
        long codes = groupStart(block, group) + (long) vector * VECTOR_BYTES;
        long at = to;
        for (int line = 0; line < codeLines; line++) {
            var eight = ints(panel, codes + (long) line * COLUMN_BYTES);
            for (int i = 0; i < NIBBLES_A_LANE; i++) {
                put(toFloats(eight.and(15)).fma(scale, minimum), target, at);
                eight = eight.lanewise(VectorOperators.LSHR, NIBBLE);
                at += COLUMN_BYTES;
            }
        }
    }

    private void widenUpperBits(MemorySegment panel, long block, int group, int vector, MemorySegment target, long to) {
        var scale = scale(panel, block, group, vector);
        var minimum = minimum(panel, block, group, vector, scale);
        long codes = groupStart(block, group) + (long) vector * VECTOR_BYTES;
        int upperBits = codeBits - NIBBLE;
        int upperMask = (1 << upperBits) - 1 << NIBBLE;
        var upper = ints(panel, codes);
        long at = to;
        for (int line = 0; line < codeLines; line++) {
            var eight = ints(panel, codes + (line + 1L) * COLUMN_BYTES);
            for (int i = 0; i < NIBBLES_A_LANE; i++) {
                put(toFloats(eight.and(15).or(upper.and(upperMask))).fma(scale, minimum), target, at);
                eight = eight.lanewise(VectorOperators.LSHR, NIBBLE);
                upper = upper.lanewise(VectorOperators.ROR, upperBits);
                at += COLUMN_BYTES;
            }
        }
    }

    private FloatVector scale(MemorySegment panel, long block, int group, int vector) {
        long at = block + (long) vector * VECTOR_BYTES;
        var scale = floats(panel, at);
        return hasGroups ? scale.mul(groupNumber(panel, at, scaleLine(group), group)) : scale;
    }

    /** Takes the offset's part where the format has none: exact, but for the sign of a zero, which changes no sum. */
    private FloatVector minimum(MemorySegment panel, long block, int group, int vector, FloatVector scale) {
        if (!hasMinimum) {
            return scale.mul(-format.codeOffset());
        }
        long at = block + (long) vector * VECTOR_BYTES;
        var minimum = floats(panel, at + COLUMN_BYTES);
        return hasGroups ? minimum.mul(groupNumber(panel, at, minimumLine(group), group)) : minimum;
    }

    private static FloatVector groupNumber(MemorySegment panel, long at, int line, int group) {
        int above = (BYTES_A_LANE - 1 - group % BYTES_A_LANE) * Byte.SIZE;
        return toFloats(ints(panel, at + (long) line * COLUMN_BYTES).lanewise(VectorOperators.LSHL, above)
                .lanewise(VectorOperators.ASHR, Integer.SIZE - Byte.SIZE));
    }

    private static FloatVector toFloats(IntVector numbers) {
        return (FloatVector) numbers.convert(VectorOperators.I2F, 0);
    }
}
