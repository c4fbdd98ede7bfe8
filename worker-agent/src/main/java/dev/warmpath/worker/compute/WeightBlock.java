package dev.warmpath.worker.compute;

import java.util.Arrays;

/**
 * A block of a {@link WeightFormat} taken apart: a whole number for each element, and what one of them is worth.
 * Element i, of group g, is
 * <pre>
 *   (scale · groupScale(g)) · (code(i) − offset) + minimum · groupMinimum(g)
 * </pre>
 * with products, the difference and the sum rounded to float32 one by one. All but the last are exact in every format:
 * a scale has 11 significant bits, a group's 8, a code 8, so one fused multiply-add gives the same number.
 */
public final class WeightBlock {

    /** Changes no number that it is added to, not even the sign of zero. */
    static final float NO_MINIMUM = -0f;

    private final WeightFormat format;
    /** Of the whole block, as are {@link #minimum}. */
    float scale;
    float minimum = NO_MINIMUM;
    final int[] codes;
    final int[] groupScales;
    final int[] groupMinimums;

    /** @param format of blocks, see {@link WeightFormat#hasBlocks} */
    public WeightBlock(WeightFormat format) {
        this.format = format;
        this.codes = new int[format.blockElements()];
        this.groupScales = new int[format.blockElements() / format.groupElements()];
        this.groupMinimums = new int[groupScales.length];
        Arrays.fill(groupScales, 1);
        Arrays.fill(groupMinimums, 1);
    }

    /** 0 up to 2 to the power of {@link WeightFormat#codeBits}, exclusive. */
    public int code(int element) {
        return codes[element];
    }

    public float scale() {
        return scale;
    }

    /** What is added to each element; −0 where the format has none. */
    public float minimum() {
        return minimum;
    }

    /** −128 to 127; 1 where the format has none. */
    public int groupScale(int group) {
        return groupScales[group];
    }

    /** 0 to 63; 1 where the format has none. */
    public int groupMinimum(int group) {
        return groupMinimums[group];
    }

    /** Writes what the elements are worth, from {@code start} on. */
    void widen(float[] target, int start) {
        int groupElements = format.groupElements();
        for (int group = 0; group < groupScales.length; group++) {
            float unit = scale * groupScales[group];
            float least = minimum * groupMinimums[group];
            for (int i = group * groupElements; i < (group + 1) * groupElements; i++) {
                target[start + i] = unit * (codes[i] - format.codeOffset()) + least;
            }
        }
    }
}
