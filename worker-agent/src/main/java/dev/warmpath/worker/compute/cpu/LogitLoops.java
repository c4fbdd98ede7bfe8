package dev.warmpath.worker.compute.cpu;

/** Loops over one row of logits, element after element. NaN is no number: what is said of it is said below. */
class LogitLoops {

    /** The first index in [from, end) whose logit is above a bound, or is NaN; {@code end} if there is none. */
    int nextAbove(float[] logits, int from, int end, float bound) {
        int index = from;
        while (index < end && logits[index] <= bound) {
            index++;
        }
        return index;
    }

    /** How many logits in [from, end) are at least as large as a bound; none of them is NaN. */
    int countAtLeast(float[] logits, int from, int end, float bound) {
        int count = 0;
        for (int index = from; index < end; index++) {
            count += logits[index] >= bound ? 1 : 0;
        }
        return count;
    }

    /** Sum of e^(logit − largest) over [from, end). @param largest of them, finite; none is NaN */
    double sumOfExponentials(float[] logits, int from, int end, float largest) {
        double sum = 0;
        for (int index = from; index < end; index++) {
            sum += Math.exp(logits[index] - (double) largest);
        }
        return sum;
    }
}
