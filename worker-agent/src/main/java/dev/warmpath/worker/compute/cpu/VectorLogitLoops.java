package dev.warmpath.worker.compute.cpu;

import static dev.warmpath.worker.compute.cpu.VectorMath.LANES;
import static dev.warmpath.worker.compute.cpu.VectorMath.SPECIES;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;

/** The same by vectors. Sums have one order, so a row's is its own, bit for bit. */
final class VectorLogitLoops extends LogitLoops {

    /** Vectors whose exponentials are added up in float32, before the sum goes on in float64. */
    private static final int VECTORS_A_SUM = 64;

    private final float[] lanes = new float[LANES];

    @Override
    int nextAbove(float[] logits, int from, int end, float bound) {
        int index = from;
        for (; index <= end - LANES; index += LANES) {
            // "not at most", so that NaN is found, too
            var found = FloatVector.fromArray(SPECIES, logits, index).compare(VectorOperators.LE, bound).not();
            if (found.anyTrue()) {
                return index + found.firstTrue();
            }
        }
        return super.nextAbove(logits, index, end, bound);
    }

    @Override
    int countAtLeast(float[] logits, int from, int end, float bound) {
        int count = 0;
        int index = from;
        for (; index <= end - LANES; index += LANES) {
            count += FloatVector.fromArray(SPECIES, logits, index).compare(VectorOperators.GE, bound).trueCount();
        }
        return count + super.countAtLeast(logits, index, end, bound);
    }

    @Override
    double sumOfExponentials(float[] logits, int from, int end, float largest) {
        double sum = 0;
        int index = from;
        while (index <= end - LANES) {
            int pause = Math.min(index + VECTORS_A_SUM * LANES, end);
            FloatVector part = FloatVector.zero(SPECIES);
            for (; index <= pause - LANES; index += LANES) {
                part = part.add(VectorMath.exp(FloatVector.fromArray(SPECIES, logits, index).sub(largest)));
            }
            sum += VectorMath.sum(part, lanes);
        }
        return sum + super.sumOfExponentials(logits, index, end, largest);
    }
}
