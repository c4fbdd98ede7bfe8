package dev.warmpath.worker.compute.cpu;

import static dev.warmpath.worker.compute.cpu.PanelFormat.floats;
import static dev.warmpath.worker.compute.cpu.PanelFormat.ints;
import static dev.warmpath.worker.compute.cpu.PanelFormat.put;

import dev.warmpath.worker.compute.WeightBlock;
import dev.warmpath.worker.compute.WeightFormat;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;

/**
 * Panels of values that share scales, see {@link WeightBlock}: block after block of columns,
 * <pre>
 *   1 line     scales, float32
 *   1 line     minimums, float32, where the format has any
 *   lines      scales of groups, 4 to a lane, the first lowest, where the format has groups
 *   lines      minimums of groups, likewise
 *   per group  lines of codes, from the lowest bits of a lane on: 4 of 8 bits, or the lower four bits of 8
 *              1 line of upper bits, of the first code in the fifth bit (and sixth), and so on, all the way round,
 *              where the format has any
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
    /** Lines before the codes. */
    private final int headLines;
    /** Lines of a group's codes without their upper bits. */
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

    private int blockLines() {
        return headLines + groups * groupLines;
    }

    private long blockStart(int column) {
        return (long) (column / blockColumns) * blockLines() * LINE_BYTES;
    }

    private int groupOf(int column) {
        return column % blockColumns / groupColumns;
    }

    /** Line of a block in which a group's scale is. */
    private int scaleLine(int group) {
        return (hasMinimum ? 2 : 1) + group / BYTES_A_LANE;
    }

    private int minimumLine(int group) {
        return scaleLine(group) + groups / BYTES_A_LANE;
    }

    private int codesLine(int group) {
        return headLines + group * groupLines;
    }

    @Override
    public long bytes(int columns) {
        return (long) Math.ceilDiv(columns, blockColumns) * blockLines() * LINE_BYTES;
    }

    @Override
    public void pack(WeightFormat rowFormat, MemorySegment values, long first, int columns, int output,
                     MemorySegment panel) {
        if (rowFormat != format) {
            throw new IllegalArgumentException(this + " takes no rows of " + rowFormat);
        }
        var block = new WeightBlock(format);
        var lanes = new int[blockLines()];
        for (int column = 0; column < columns; column += blockColumns) {
            format.read(values, (first + column) / blockColumns, block);
            pack(block, lanes);
            long at = blockStart(column) + (long) output * Integer.BYTES;
            for (int line = 0; line < lanes.length; line++) {
                panel.set(INT, at + (long) line * LINE_BYTES, lanes[line]);
            }
        }
    }

    private void pack(WeightBlock block, int[] lanes) {
        Arrays.fill(lanes, 0);
        lanes[0] = Float.floatToRawIntBits(block.scale());
        if (hasMinimum) {
            lanes[1] = Float.floatToRawIntBits(block.minimum());
        }
        for (int group = 0; group < groups; group++) {
            int shift = group % BYTES_A_LANE * Byte.SIZE;
            if (hasGroups) {
                lanes[scaleLine(group)] |= (block.groupScale(group) & 255) << shift;
                if (hasMinimum) {
                    lanes[minimumLine(group)] |= (block.groupMinimum(group) & 255) << shift;
                }
            }
            for (int i = 0; i < groupColumns; i++) {
                packCode(block.code(group * groupColumns + i), i, codesLine(group), lanes);
            }
        }
    }

    private void packCode(int code, int i, int line, int[] lanes) {
        if (codeBits == Byte.SIZE) {
            lanes[line + i / BYTES_A_LANE] |= code << i % BYTES_A_LANE * Byte.SIZE;
        } else {
            lanes[line + i / NIBBLES_A_LANE] |= (code & 15) << i % NIBBLES_A_LANE * NIBBLE;
            if (hasUpperBits()) {
                lanes[line + codeLines] |= Integer.rotateLeft(code & ~15, i * (codeBits - NIBBLE));
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
        int code = code(panel, block, codesLine(group), column % groupColumns);
        return scale * (code - format.codeOffset()) + minimum;
    }

    private int code(MemorySegment panel, long block, int line, int i) {
        if (codeBits == Byte.SIZE) {
            return lane(panel, block, line + i / BYTES_A_LANE) >>> i % BYTES_A_LANE * Byte.SIZE & 255;
        }
        int lower = lane(panel, block, line + i / NIBBLES_A_LANE) >>> i % NIBBLES_A_LANE * NIBBLE & 15;
        if (!hasUpperBits()) {
            return lower;
        }
        int upper = Integer.rotateRight(lane(panel, block, line + codeLines), i * (codeBits - NIBBLE));
        return lower | upper & (1 << codeBits) - 1 & ~15;
    }

    private static int lane(MemorySegment panel, long block, int line) {
        return panel.get(INT, block + (long) line * LINE_BYTES);
    }

    @Override
    public void widen(MemorySegment panel, int firstColumn, int count, MemorySegment target) {
        for (int done = 0; done < count; done += groupColumns) {
            long block = blockStart(firstColumn + done);
            int group = groupOf(firstColumn + done);
            for (long vector = 0; vector < LINE_BYTES; vector += VECTOR_BYTES) {
                long to = vector + (long) done * LINE_BYTES;
                if (codeBits == Byte.SIZE) {
                    widenBytes(panel, block + vector, group, target, to);
                } else if (hasUpperBits()) {
                    widenUpperBits(panel, block + vector, group, target, to);
                } else {
                    widenNibbles(panel, block + vector, group, target, to);
                }
            }
        }
    }

    // One vector of outputs in a group, code · scale + minimum. These are compiled by themselves, so that vectors among
    // their arguments would be objects.

    private void widenBytes(MemorySegment panel, long block, int group, MemorySegment target, long to) {
        var scale = scale(panel, block, group);
        var minimum = minimum(panel, block, group, scale);
        long codes = block + (long) codesLine(group) * LINE_BYTES;
        long at = to;
        for (int line = 0; line < codeLines; line++) {
            var four = ints(panel, codes + (long) line * LINE_BYTES);
            for (int i = 0; i < BYTES_A_LANE; i++) {
                put(toFloats(four.and(255)).fma(scale, minimum), target, at);
                four = four.lanewise(VectorOperators.LSHR, Byte.SIZE);
                at += LINE_BYTES;
            }
        }
    }

    private void widenNibbles(MemorySegment panel, long block, int group, MemorySegment target, long to) {
        var scale = scale(panel, block, group);
        var minimum = minimum(panel, block, group, scale);
        long codes = block + (long) codesLine(group) * LINE_BYTES;
        long at = to;
        for (int line = 0; line < codeLines; line++) {
            var eight = ints(panel, codes + (long) line * LINE_BYTES);
            for (int i = 0; i < NIBBLES_A_LANE; i++) {
                put(toFloats(eight.and(15)).fma(scale, minimum), target, at);
                eight = eight.lanewise(VectorOperators.LSHR, NIBBLE);
                at += LINE_BYTES;
            }
        }
    }

    private void widenUpperBits(MemorySegment panel, long block, int group, MemorySegment target, long to) {
        var scale = scale(panel, block, group);
        var minimum = minimum(panel, block, group, scale);
        long codes = block + (long) codesLine(group) * LINE_BYTES;
        int upperBits = codeBits - NIBBLE;
        int upperMask = (1 << upperBits) - 1 << NIBBLE;
        var upper = ints(panel, codes + (long) codeLines * LINE_BYTES);
        long at = to;
        for (int line = 0; line < codeLines; line++) {
            var eight = ints(panel, codes + (long) line * LINE_BYTES);
            for (int i = 0; i < NIBBLES_A_LANE; i++) {
                put(toFloats(eight.and(15).or(upper.and(upperMask))).fma(scale, minimum), target, at);
                eight = eight.lanewise(VectorOperators.LSHR, NIBBLE);
                upper = upper.lanewise(VectorOperators.ROR, upperBits);
                at += LINE_BYTES;
            }
        }
    }

    private FloatVector scale(MemorySegment panel, long block, int group) {
        var scale = floats(panel, block);
        return hasGroups ? scale.mul(groupNumber(panel, block, scaleLine(group), group)) : scale;
    }

    /** Takes the offset's part where the format has none: exact, but for the sign of a zero, which changes no sum. */
    private FloatVector minimum(MemorySegment panel, long block, int group, FloatVector scale) {
        if (!hasMinimum) {
            return scale.mul(-format.codeOffset());
        }
        var minimum = floats(panel, block + LINE_BYTES);
        return hasGroups ? minimum.mul(groupNumber(panel, block, minimumLine(group), group)) : minimum;
    }

    private static FloatVector groupNumber(MemorySegment panel, long block, int line, int group) {
        int above = (BYTES_A_LANE - 1 - group % BYTES_A_LANE) * Byte.SIZE;
        return toFloats(ints(panel, block + (long) line * LINE_BYTES).lanewise(VectorOperators.LSHL, above)
                .lanewise(VectorOperators.ASHR, Integer.SIZE - Byte.SIZE));
    }

    private static FloatVector toFloats(IntVector numbers) {
        return (FloatVector) numbers.convert(VectorOperators.I2F, 0);
    }
}
