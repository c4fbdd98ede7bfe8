package dev.warmpath.worker.compute.cpu;

/**
 * Loops over one row of logits, element after element. NaN is no number: what is said of it is said below. One thread at
 * a time.
 */
class LogitLoops {

    /** The largest logit in [from, end), at least one; no finite number if one of them is NaN or +infinity. */
    float largest(float[] logits, int from, int end) {
        float largest = Float.NEGATIVE_INFINITY;
        for (int index = from; index < end; index++) {
            largest = Math.max(largest, logits[index]);
        }
        return largest;
    }

    /** The first index in [from, end) whose logit is above a bound, or is NaN; {@code end} if there is none. */
    int nextAbove(float[] logits, int from, int end, float bound) {
        int index = from;
        while (index < end && logits[index] <= bound) {
            index++;
        }
        return index;
    }

    /**
     * Lists the indexes in [from, end) whose logits are above a bound, ascending; none is NaN.
     * @param indexes room for all of the range
     * @return how many they are
     */
    int listAbove(float[] logits, int from, int end, float bound, int[] indexes) {
        int count = 0;
        for (int index = from; index < end; index++) {
            if (logits[index] > bound) {
                indexes[count++] = index;
            }
        }
        return count;
    }

    /** How many logits in [from, end) are at least as large as a bound; none of them is NaN. */
    int countAtLeast(float[] logits, int from, int end, float bound) {
        int count = 0;
        for (int index = from; index < end; index++) {
            count += logits[index] >= bound ? 1 : 0;
        }
        return count;
    }

    /** Sets logits in [from, end) that are below a bound to −infinity; NaN and +infinity stay. */
    void maskBelow(float[] logits, int from, int end, float bound) {
        for (int index = from; index < end; index++) {
            if (logits[index] < bound) {
                logits[index] = Float.NEGATIVE_INFINITY;
            }
        }
    }

    /** Sum of e^(logit − largest) over [from, end). @param largest of them, finite; none is NaN */
    double sumOfExponentials(float[] logits, int from, int end, float largest) {
        double sum = 0;
        for (int index = from; index < end; index++) {
            sum += Math.exp(logits[index] - (double) largest);
        }
        return sum;
    }

    /**
     * Sets {@code weights} to e^((logit − largest) / temperature) of the logits in [from, end), from 0 on.
     * @param largest at least as large as all of them, finite; none is NaN
     * @return their sum
     */
    double weigh(float[] logits, int from, int end, float largest, float temperature, double[] weights) {
        double sum = 0;
        for (int index = from; index < end; index++) {
            double weight = Math.exp((logits[index] - (double) largest) / temperature);
            weights[index - from] = weight;
            sum += weight;
        }
        return sum;
    }
}
