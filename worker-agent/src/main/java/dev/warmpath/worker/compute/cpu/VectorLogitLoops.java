package dev.warmpath.worker.compute.cpu;

import static dev.warmpath.worker.compute.cpu.VectorMath.DOUBLES;
import static dev.warmpath.worker.compute.cpu.VectorMath.DOUBLE_LANES;
import static dev.warmpath.worker.compute.cpu.VectorMath.LANES;
import static dev.warmpath.worker.compute.cpu.VectorMath.SPECIES;

import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;

/** The same by vectors. Sums have one order, so a row's is its own, bit for bit. */
final class VectorLogitLoops extends LogitLoops {

    /** Vectors whose exponentials are added up in float32, before the sum goes on in float64. */
    private static final int VECTORS_A_SUM = 64;

    private final float[] lanes = new float[LANES];
    private final double[] doubleLanes = new double[DOUBLE_LANES];

    @Override
    float largest(float[] logits, int from, int end) {
        int index = from;
        var largest = FloatVector.broadcast(SPECIES, Float.NEGATIVE_INFINITY);
        var usable = SPECIES.maskAll(true);
        for (; index <= end - LANES; index += LANES) {
            // not max(), which takes six instructions for the sake of NaN and -0
            var next = FloatVector.fromArray(SPECIES, logits, index);
            usable = usable.and(next.compare(VectorOperators.LT, Float.POSITIVE_INFINITY));
            largest = largest.blend(next, next.compare(VectorOperators.GT, largest));
        }
        if (!usable.allTrue()) {
            return Float.NaN;
        }
        return Math.max(largest.reduceLanes(VectorOperators.MAX), super.largest(logits, index, end));
    }

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
    int listAbove(float[] logits, int from, int end, float bound, int[] indexes) {
        int count = 0;
        int index = from;
        for (; index <= end - LANES; index += LANES) {
            var found = FloatVector.fromArray(SPECIES, logits, index).compare(VectorOperators.GT, bound);
            if (found.anyTrue()) {
                for (long bits = found.toLong(); bits != 0; bits &= bits - 1) {
                    indexes[count++] = index + Long.numberOfTrailingZeros(bits);
                }
            }
        }
        for (; index < end; index++) {
            if (logits[index] > bound) {
                indexes[count++] = index;
            }
        }
        return count;
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
    void maskBelow(float[] logits, int from, int end, float bound) {
        int index = from;
        for (; index <= end - LANES; index += LANES) {
            var next = FloatVector.fromArray(SPECIES, logits, index);
            next.blend(Float.NEGATIVE_INFINITY, next.compare(VectorOperators.LT, bound)).intoArray(logits, index);
        }
        super.maskBelow(logits, index, end, bound);
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

    @Override
    double weigh(float[] logits, int from, int end, float largest, float temperature, double[] weights) {
        int index = from;
        double scale = 1 / (double) temperature;
        var sums = DoubleVector.zero(DOUBLES);
        for (; index <= end - DOUBLE_LANES; index += DOUBLE_LANES) {
            var weight = VectorMath.exp(VectorMath.doubles(logits, index).sub(largest).mul(scale));
            weight.intoArray(weights, index - from);
            sums = sums.add(weight);
        }
        double sum = VectorMath.sum(sums, doubleLanes);
        for (; index < end; index++) {
            double weight = Math.exp((logits[index] - (double) largest) * scale);
            weights[index - from] = weight;
            sum += weight;
        }
        return sum;
    }
}
