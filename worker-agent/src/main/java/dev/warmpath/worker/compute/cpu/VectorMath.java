package dev.warmpath.worker.compute.cpu;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * Functions over the lanes of a vector. Each lane's result depends on that lane alone, and sums across lanes have one
 * fixed order: {@code reduceLanes(ADD)} may add in another order once it is compiled, which would break equality bit
 * for bit.
 */
final class VectorMath {

    static final VectorSpecies<Float> SPECIES = FloatVector.SPECIES_PREFERRED;
    static final int LANES = SPECIES.length();

    private static final float LOG2_E = 1.44269504f;
    private static final float LN2_HIGH = 0.693359375f;
    private static final float LN2_LOW = -2.12194440e-4f;
    /** 1.5 · 2^23: adding it rounds to an integer and leaves that integer in the low bits. */
    private static final float ROUNDER = 12_582_912f;
    private static final float SMALLEST = -87.3f;
    private static final float LARGEST = 88f;
    private static final int ONE_BITS = 0x3F80_0000;
    private static final int MANTISSA_BITS = 23;

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

    /** Stores the leading {@code width} lanes of two neighbouring vectors; all of them if there are more. */
    static void storeUpTo(int width, FloatVector low, FloatVector high, float[] target, int start) {
        if (width >= 2 * LANES) {
            low.intoArray(target, start);
            high.intoArray(target, start + LANES);
        } else {
            low.intoArray(target, start, SPECIES.indexInRange(0, width));
            if (width > LANES) {
                high.intoArray(target, start + LANES, SPECIES.indexInRange(LANES, width));
            }
        }
    }
}
