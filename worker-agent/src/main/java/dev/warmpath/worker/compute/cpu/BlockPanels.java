package dev.warmpath.worker.compute.cpu;

import static dev.warmpath.worker.compute.cpu.PanelFormat.floats;
import static dev.warmpath.worker.compute.cpu.PanelFormat.ints;
import static dev.warmpath.worker.compute.cpu.PanelFormat.put;
import static dev.warmpath.worker.compute.cpu.VectorMath.LANES;

import dev.warmpath.worker.compute.WeightBlock;
import dev.warmpath.worker.compute.WeightFormat;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;

/**
 * Panels of values that share scales, see {@link WeightBlock}: block after block of columns, in the order in which they
 * are read, for a processor fetches ahead only what lies in a row. A line is a vector.
 * <pre>
 *   for each vector of outputs:
 *     1 line     scales, float32
 *     1 line     minimums, float32, where the format has any
 *     lines      scales of groups, 4 to a lane, the first lowest, where the format has groups
 *     lines      minimums of groups, likewise
 *   for each group, for each vector of outputs:
 *     lines      codes, from the lowest bits of a lane on: 4 of 8 bits, or the lower four bits of 8
 *     1 line     upper bits, of the first code in the fifth bit (and sixth), and so on, all the way round, where the
 *                format has any
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

    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
    private static final int BYTES_A_LANE = 4;
    private static final int NIBBLES_A_LANE = 8;
    private static final int NIBBLE = 4;

    private final WeightFormat format;
    private final int blockColumns;
    private final int groupColumns;
    private final int codeBits;
    private final boolean hasMinimum;
    private final boolean hasGroups;
    private final int groups;
    /** Lines of a vector of outputs before the codes. */
    private final int headLines;
    /** Likewise of a group's codes without their upper bits. */
    private final int codeLines;
    private final int groupLines;

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
        this.codeLines = groupColumns / (codeBits == Byte.SIZE ? BYTES_A_LANE : NIBBLES_A_LANE);
        this.groupLines = codeLines + (hasUpperBits() ? 1 : 0);
    }

    private boolean hasUpperBits() {
        return codeBits > NIBBLE && codeBits < Byte.SIZE;
    }

    private long blockBytes() {
        return (long) VECTORS * (headLines + groups * groupLines) * VECTOR_BYTES;
    }

    private long blockStart(int column) {
        return column / blockColumns * blockBytes();
    }

    private int groupOf(int column) {
        return column % blockColumns / groupColumns;
    }

    private long head(long block, int vector) {
        return block + (long) vector * headLines * VECTOR_BYTES;
    }

    private long codes(long block, int group, int vector) {
        return block + ((long) VECTORS * headLines + (group * VECTORS + vector) * groupLines) * VECTOR_BYTES;
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
        int vector = output / LANES;
        long lane = (long) output % LANES * Integer.BYTES;
        var block = new WeightBlock(format);
        var head = new int[headLines];
        var codes = new int[groupLines];
        for (int column = 0; column < columns; column += blockColumns) {
            format.read(values, (first + column) / blockColumns, block);
            long at = blockStart(column) + lane;
            packHead(block, head);
            setLanes(panel, head(at, vector), head);
            for (int group = 0; group < groups; group++) {
                packCodes(block, group, codes);
                setLanes(panel, codes(at, group, vector), codes);
            }
        }
    }

    private static void setLanes(MemorySegment panel, long at, int[] lanes) {
        for (int line = 0; line < lanes.length; line++) {
            panel.set(INT, at + (long) line * VECTOR_BYTES, lanes[line]);
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
        for (int i = 0; i < groupColumns; i++) {
            int code = block.code(group * groupColumns + i);
            if (codeBits == Byte.SIZE) {
                codes[i / BYTES_A_LANE] |= code << i % BYTES_A_LANE * Byte.SIZE;
            } else {
                codes[i / NIBBLES_A_LANE] |= (code & 15) << i % NIBBLES_A_LANE * NIBBLE;
            }
            if (hasUpperBits()) {
                codes[codeLines] |= Integer.rotateLeft(code & ~15, i * (codeBits - NIBBLE));
            }
        }
    }

    @Override
    public float value(MemorySegment panel, int output, int column) {
        int group = groupOf(column);
        long block = blockStart(column) + (long) output % LANES * Integer.BYTES;
        long head = head(block, output / LANES);
        float scale = Float.intBitsToFloat(lane(panel, head, 0));
        float minimum = hasMinimum ? Float.intBitsToFloat(lane(panel, head, 1)) : -0f;
        if (hasGroups) {
            int shift = group % BYTES_A_LANE * Byte.SIZE;
            scale *= (byte) (lane(panel, head, scaleLine(group)) >>> shift);
            minimum *= hasMinimum ? (byte) (lane(panel, head, minimumLine(group)) >>> shift) : 1;
        }
        int code = code(panel, codes(block, group, output / LANES), column % groupColumns);
        return scale * (code - format.codeOffset()) + minimum;
    }

    private int code(MemorySegment panel, long codes, int i) {
        if (codeBits == Byte.SIZE) {
            return lane(panel, codes, i / BYTES_A_LANE) >>> i % BYTES_A_LANE * Byte.SIZE & 255;
        }
        int lower = lane(panel, codes, i / NIBBLES_A_LANE) >>> i % NIBBLES_A_LANE * NIBBLE & 15;
        if (!hasUpperBits()) {
            return lower;
        }
        int upper = Integer.rotateRight(lane(panel, codes, codeLines), i * (codeBits - NIBBLE));
        return lower | upper & (1 << codeBits) - 1 & ~15;
    }

    private static int lane(MemorySegment panel, long at, int line) {
        return panel.get(INT, at + (long) line * VECTOR_BYTES);
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
        long head = head(block, vector);
        var scale = scale(panel, head, group);
        var minimum = minimum(panel, head, group, scale);
        long codes = codes(block, group, vector);
        long at = to;
        for (int line = 0; line < codeLines; line++) {
            var four = ints(panel, codes + (long) line * VECTOR_BYTES);
            for (int i = 0; i < BYTES_A_LANE; i++) {
                put(toFloats(four.and(255)).fma(scale, minimum), target, at);
                four = four.lanewise(VectorOperators.LSHR, Byte.SIZE);
                at += COLUMN_BYTES;
            }
        }
    }

    private void widenNibbles(MemorySegment panel, long block, int group, int vector, MemorySegment target, long to) {
        long head = head(block, vector);
        var scale = scale(panel, head, group);
        var minimum = minimum(panel, head, group, scale);
        long codes = codes(block, group, vector);
        long at = to;
        for (int line = 0; line < codeLines; line++) {
            var eight = ints(panel, codes + (long) line * VECTOR_BYTES);
            for (int i = 0; i < NIBBLES_A_LANE; i++) {
                put(toFloats(eight.and(15)).fma(scale, minimum), target, at);
                eight = eight.lanewise(VectorOperators.LSHR, NIBBLE);
                at += COLUMN_BYTES;
            }
        }
    }

    private void widenUpperBits(MemorySegment panel, long block, int group, int vector, MemorySegment target, long to) {
        long head = head(block, vector);
        var scale = scale(panel, head, group);
        var minimum = minimum(panel, head, group, scale);
        long codes = codes(block, group, vector);
        int upperBits = codeBits - NIBBLE;
        int upperMask = (1 << upperBits) - 1 << NIBBLE;
        var upper = ints(panel, codes + (long) codeLines * VECTOR_BYTES);
        long at = to;
        for (int line = 0; line < codeLines; line++) {
            var eight = ints(panel, codes + (long) line * VECTOR_BYTES);
            for (int i = 0; i < NIBBLES_A_LANE; i++) {
                put(toFloats(eight.and(15).or(upper.and(upperMask))).fma(scale, minimum), target, at);
                eight = eight.lanewise(VectorOperators.LSHR, NIBBLE);
                upper = upper.lanewise(VectorOperators.ROR, upperBits);
                at += COLUMN_BYTES;
            }
        }
    }

    private FloatVector scale(MemorySegment panel, long head, int group) {
        var scale = floats(panel, head);
        return hasGroups ? scale.mul(groupNumber(panel, head, scaleLine(group), group)) : scale;
    }

    /** Takes the offset's part where the format has none: exact, but for the sign of a zero, which changes no sum. */
    private FloatVector minimum(MemorySegment panel, long head, int group, FloatVector scale) {
        if (!hasMinimum) {
            return scale.mul(-format.codeOffset());
        }
        var minimum = floats(panel, head + VECTOR_BYTES);
        return hasGroups ? minimum.mul(groupNumber(panel, head, minimumLine(group), group)) : minimum;
    }

    private static FloatVector groupNumber(MemorySegment panel, long head, int line, int group) {
        int above = (BYTES_A_LANE - 1 - group % BYTES_A_LANE) * Byte.SIZE;
        return toFloats(ints(panel, head + (long) line * VECTOR_BYTES).lanewise(VectorOperators.LSHL, above)
                .lanewise(VectorOperators.ASHR, Integer.SIZE - Byte.SIZE));
    }

    private static FloatVector toFloats(IntVector numbers) {
        return (FloatVector) numbers.convert(VectorOperators.I2F, 0);
    }
}
