package dev.warmpath.worker.compute.cpu;

import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.LongVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorShape;
import jdk.incubator.vector.VectorSpecies;

/**
 * Functions over the lanes of a vector. Each lane's result depends on that lane alone, and sums across lanes have one
 * fixed order: {@code reduceLanes(ADD)} may add in another order once it is compiled, which would break equality bit
 * for bit.
 */
final class VectorMath {

    static final VectorSpecies<Float> SPECIES = FloatVector.SPECIES_PREFERRED;
    static final int LANES = SPECIES.length();
    static final VectorSpecies<Double> DOUBLES = DoubleVector.SPECIES_PREFERRED;
    static final int DOUBLE_LANES = DOUBLES.length();

    static final VectorSpecies<Integer> INTS = IntVector.SPECIES_PREFERRED;

    private static final VectorSpecies<Float> HALF =
            VectorSpecies.of(float.class, VectorShape.forBitSize(SPECIES.vectorBitSize() / 2));

    private static final float LOG2_E = 1.44269504f;
    private static final float LN2_HIGH = 0.693359375f;
    private static final float LN2_LOW = -2.12194440e-4f;
    /** 1.5 · 2^23: adding it rounds to an integer and leaves that integer in the low bits. */
    private static final float ROUNDER = 12_582_912f;
    private static final float SMALLEST = -87.3f;
    private static final float LARGEST = 88f;
    private static final int ONE_BITS = 0x3F80_0000;
    private static final int MANTISSA_BITS = 23;

    private static final double DOUBLE_LOG2_E = 1.4426950408889634;
    private static final double DOUBLE_LN2_HIGH = 6.93147180369123816490e-01;
    private static final double DOUBLE_LN2_LOW = 1.90821492927058770002e-10;
    private static final double DOUBLE_ROUNDER = 0x1.8p52;
    /** e^−708 is the last normal number of float64. */
    private static final double DOUBLE_SMALLEST = -708;
    private static final double DOUBLE_LARGEST = 709;
    private static final long DOUBLE_ONE_BITS = 0x3FF0_0000_0000_0000L;
    private static final int DOUBLE_MANTISSA_BITS = 52;
    /** 1 / n!, from n = 13 down to 2: what is left out is below 2^-57 where |r| is at most ln 2 / 2. */
    private static final double[] TAYLOR = {1.0 / 6_227_020_800L, 1.0 / 479_001_600, 1.0 / 39_916_800, 1.0 / 3_628_800,
        1.0 / 362_880, 1.0 / 40_320, 1.0 / 5_040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5};

    private VectorMath() {
    }

    /**
     * e^x to about 2 units in the last place; 0 below −87.3, where float32 runs out of normal numbers, and e^88 above
     * 88. x = n ln 2 + r with a polynomial of degree 6 in r, as in Cephes' {@code expf}. {@code VectorOperators.EXP}
     * calls out of line where the JVM has no vector mathematics library.
     */
    static FloatVector exp(FloatVector x) {
        FloatVector clamped = x.max(SMALLEST).min(LARGEST);
        FloatVector rounder = FloatVector.broadcast(SPECIES, ROUNDER);
        FloatVector rounded = clamped.fma(FloatVector.broadcast(SPECIES, LOG2_E), rounder);
        FloatVector n = rounded.sub(ROUNDER);
        FloatVector r = n.fma(FloatVector.broadcast(SPECIES, -LN2_HIGH), clamped);
        r = n.fma(FloatVector.broadcast(SPECIES, -LN2_LOW), r);
        FloatVector p = FloatVector.broadcast(SPECIES, 1.9875691500e-4f);
        p = p.fma(r, FloatVector.broadcast(SPECIES, 1.3981999507e-3f));
        p = p.fma(r, FloatVector.broadcast(SPECIES, 8.3334519073e-3f));
        p = p.fma(r, FloatVector.broadcast(SPECIES, 4.1665795894e-2f));
        p = p.fma(r, FloatVector.broadcast(SPECIES, 1.6666665459e-1f));
        p = p.fma(r, FloatVector.broadcast(SPECIES, 5.0000001201e-1f));
        p = p.fma(r.mul(r), r).add(1f);
        IntVector powerOfTwo = rounded.reinterpretAsInts().lanewise(VectorOperators.LSHL, MANTISSA_BITS).add(ONE_BITS);
        FloatVector result = p.mul(powerOfTwo.reinterpretAsFloats());
        return result.blend(0f, x.lt(SMALLEST));
    }

    /** e^x to about 1 unit in the last place; 0 below −708, and e^709 above 709. As above, with Taylor's polynomial. */
    static DoubleVector exp(DoubleVector x) {
        DoubleVector clamped = x.max(DOUBLE_SMALLEST).min(DOUBLE_LARGEST);
        DoubleVector rounder = DoubleVector.broadcast(DOUBLES, DOUBLE_ROUNDER);
        DoubleVector rounded = clamped.fma(DoubleVector.broadcast(DOUBLES, DOUBLE_LOG2_E), rounder);
        DoubleVector n = rounded.sub(DOUBLE_ROUNDER);
        DoubleVector r = n.fma(DoubleVector.broadcast(DOUBLES, -DOUBLE_LN2_HIGH), clamped);
        r = n.fma(DoubleVector.broadcast(DOUBLES, -DOUBLE_LN2_LOW), r);
        DoubleVector p = DoubleVector.broadcast(DOUBLES, TAYLOR[0]);
        for (int i = 1; i < TAYLOR.length; i++) {
            p = p.fma(r, DoubleVector.broadcast(DOUBLES, TAYLOR[i]));
        }
        p = p.fma(r.mul(r), r).add(1);
        LongVector powerOfTwo = rounded.reinterpretAsLongs()
                .lanewise(VectorOperators.LSHL, DOUBLE_MANTISSA_BITS).add(DOUBLE_ONE_BITS);
        DoubleVector result = p.mul(powerOfTwo.reinterpretAsDoubles());
        return result.blend(0, x.lt(DOUBLE_SMALLEST));
    }

    /** Of two bfloat16 numbers in each lane the one in its low half, widened. */
    static FloatVector low(IntVector pairs) {
        return pairs.lanewise(VectorOperators.LSHL, Short.SIZE).reinterpretAsFloats();
    }

    /** Likewise, the one in its high half. */
    static FloatVector high(IntVector pairs) {
        return pairs.and(0xFFFF_0000).reinterpretAsFloats();
    }

    /** The next {@link #DOUBLE_LANES} of float32 values, widened. */
    static DoubleVector doubles(float[] values, int start) {
        return (DoubleVector) FloatVector.fromArray(HALF, values, start)
                .convertShape(VectorOperators.F2D, DOUBLES, 0);
    }

    /** tanh x = 1 − 2 / (e^2x + 1), off by 2 ulp of 1 at most: what bounds scores needs no small number exact. */
    static FloatVector tanh(FloatVector x) {
        return FloatVector.broadcast(SPECIES, -2f).div(exp(x.add(x)).add(1f)).add(1f);
    }

    /** Sum of the lanes, from the first to the last. @param scratch at least as long as the vector */
    static float sum(FloatVector vector, float[] scratch) {
        vector.intoArray(scratch, 0);
        float sum = scratch[0];
        for (int lane = 1; lane < LANES; lane++) {
            sum += scratch[lane];
        }
        return sum;
    }

    /** Likewise. */
    static double sum(DoubleVector vector, double[] scratch) {
        vector.intoArray(scratch, 0);
        double sum = scratch[0];
        for (int lane = 1; lane < DOUBLE_LANES; lane++) {
            sum += scratch[lane];
        }
        return sum;
    }
}
