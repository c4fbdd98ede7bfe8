package dev.warmpath.worker.compute.cpu;

import dev.warmpath.worker.compute.ScoreInputs;
import dev.warmpath.worker.compute.ScoredTokens;

/**
 * How likely tokens are, one row at a time: what {@link dev.warmpath.worker.compute.ScoredTokens} says of it.
 *
 * <p>The likeliest are kept in a short list in order, which a row goes by once: a token enters if its logit is above
 * the list's last, which of the many tokens of a vocabulary few are. Since ids ascend, equals stay in their order.
 * Keeps its scratch memory; not thread-safe.
 */
final class TokenScorer {

    private static final int UNUSABLE = -1;

    private final LogitLoops loops;
    private final float[] topLogits = new float[ScoredTokens.MOST_LIKELIEST];
    private final int[] topIndexes = new int[ScoredTokens.MOST_LIKELIEST];
    private float targetLogprob;

    TokenScorer(LogitLoops loops) {
        this.loops = loops;
    }

    /** Natural logarithm of the softmax of usable logits at {@code token}. */
    float logprob(float[] logits, int start, int size, int token) {
        findLikeliest(logits, start, start + size, 1);
        return logprob(logits[start + token], logOfSum(logits, start, size));
    }

    /**
     * Scores one row.
     * @param target   a token, or {@link ScoreInputs#NO_TARGET}
     * @param count    how many of the likeliest are wanted, 0 and above
     * @param topStart where these go in {@code topIds} and {@code topLogprobs}
     * @return the target's rank, or 1 without a target; {@link ScoredTokens#UNUSABLE} if the logits are
     */
    int score(float[] logits, int start, int size, int target, int count, int[] topIds, float[] topLogprobs,
            int topStart) {
        int found = findLikeliest(logits, start, start + size, Math.min(Math.max(count, 1), size));
        targetLogprob = Float.NaN;
        if (found == UNUSABLE) {
            return ScoredTokens.UNUSABLE;
        }
        double logOfSum = logOfSum(logits, start, size);
        for (int place = 0; place < Math.min(count, found); place++) {
            topIds[topStart + place] = topIndexes[place] - start;
            topLogprobs[topStart + place] = logprob(topLogits[place], logOfSum);
        }
        if (target == ScoreInputs.NO_TARGET) {
            return 1;
        }
        targetLogprob = logprob(logits[start + target], logOfSum);
        return loops.countAtLeast(logits, start, start + size, logits[start + target]);
    }

    /** Of the row scored last; NaN if it had no target, or nothing is told of it. */
    float targetLogprob() {
        return targetLogprob;
    }

    /** After the likeliest were found, which know the largest. */
    private double logOfSum(float[] logits, int start, int size) {
        return Math.log(loops.sumOfExponentials(logits, start, start + size, topLogits[0]));
    }

    private float logprob(float logit, double logOfSum) {
        return (float) (logit - (double) topLogits[0] - logOfSum);
    }

    /** @param count 1 to the number of logits @return it, or {@link #UNUSABLE} */
    private int findLikeliest(float[] logits, int from, int end, int count) {
        int found = 0;
        int index = from;
        while (index < end) {
            float logit = logits[index];
            if (!(logit < Float.POSITIVE_INFINITY)) {
                return UNUSABLE;
            }
            insert(logit, index, Math.min(found, count - 1));
            found = Math.min(found + 1, count);
            index = found < count ? index + 1 : loops.nextAbove(logits, index + 1, end, topLogits[count - 1]);
        }
        return topLogits[0] == Float.NEGATIVE_INFINITY ? UNUSABLE : found;
    }

    /** Above all that are less; whoever stood at {@code place}, the last one, is overwritten. */
    private void insert(float logit, int index, int place) {
        int free = place;
        while (free > 0 && topLogits[free - 1] < logit) {
            topLogits[free] = topLogits[free - 1];
            topIndexes[free] = topIndexes[free - 1];
            free--;
        }
        topLogits[free] = logit;
        topIndexes[free] = index;
    }
}
