package dev.warmpath.worker.compute.cpu;

import dev.warmpath.worker.compute.Philox;
import dev.warmpath.worker.compute.SampledTokens;

/**
 * The rule of {@link dev.warmpath.worker.compute.Sampling}, one row at a time. Keeps its scratch memory; not
 * thread-safe.
 *
 * <p>Without filters a row is gone by twice: its weights are summed chunk by chunk, then the chunk is walked that the
 * drawn number lies in. With filters, only tokens near the largest are ranked: those whose logits are less than some
 * temperatures below it, and twice as many temperatures if that was not enough. Whoever is left out ranks behind all of
 * them. Ranks come from a binary heap: building it is linear, and only the tokens that stay are taken off.
 */
final class TokenSampler {

    /** Tokens whose weights are summed by themselves: few enough to walk, and for the first-level cache. */
    private static final int CHUNK = 1024;
    /** Temperatures below the largest logit within which tokens are ranked first; e^−4 is 0.018. */
    private static final double FIRST_SPAN = 4;
    /** Beyond so many temperatures below the largest a weight is no float64 above zero, and nobody is drawn. */
    private static final double WIDEST_SPAN = 750;

    private final LogitLoops loops;
    private final double[] chunk = new double[CHUNK];
    private double[] chunkSums = new double[0];

    // tokens near the largest, by ascending id
    private int[] near = new int[0];
    private float[] nearLogits = new float[0];
    private double[] nearWeights = new double[0];
    private boolean[] kept = new boolean[0];
    private int nearCount;

    private int[] ranked = new int[0];
    private long[] heap = new long[0];
    private int heapSize;
    private int rankedCount;

    TokenSampler(LogitLoops loops) {
        this.loops = loops;
    }

    /** @return the drawn id, or {@link SampledTokens#NO_TOKEN} if the logits are unusable */
    int draw(float[] logits, int start, int vocabularySize, float temperature, int topK, float topP,
             long seed, int counter) {
        int end = start + vocabularySize;
        float largest = loops.largest(logits, start, end);
        if (!Float.isFinite(largest)) {
            return SampledTokens.NO_TOKEN;
        }
        if (temperature == 0) {
            return loops.nextAbove(logits, start, end, Math.nextDown(largest)) - start;
        }
        double uniform = Philox.uniform(seed, counter);
        int mostRanks = topK > 0 ? Math.min(topK, vocabularySize) : vocabularySize;
        return mostRanks < vocabularySize || topP < 1
                ? drawRanked(logits, start, end, largest, temperature, mostRanks, topP, uniform) - start
                : drawAny(logits, start, end, largest, temperature, uniform) - start;
    }

    /** False if one of them is NaN or +infinity, or all are -infinity. */
    boolean isUsable(float[] logits, int start, int vocabularySize) {
        return Float.isFinite(loops.largest(logits, start, start + vocabularySize));
    }

    private int drawAny(float[] logits, int start, int end, float largest, float temperature, double uniform) {
        double target = uniform * sumOfWeights(logits, start, end, largest, temperature);
        int from = start;
        double before = 0;
        double cumulative = 0;
        for (int index = start; index < end && cumulative <= target; index += CHUNK) {
            double sum = chunkSums[(index - start) / CHUNK];
            if (sum > 0) {
                from = index;
                before = cumulative;
                cumulative += sum;
            }
        }
        int to = Math.min(from + CHUNK, end);
        loops.weigh(logits, from, to, largest, temperature, chunk);
        return from + walk(chunk, to - from, before, target);
    }

    private double sumOfWeights(float[] logits, int start, int end, float largest, float temperature) {
        int chunks = Math.ceilDiv(end - start, CHUNK);
        if (chunkSums.length < chunks) {
            chunkSums = new double[chunks];
        }
        double total = 0;
        for (int i = 0; i < chunks; i++) {
            int from = start + i * CHUNK;
            chunkSums[i] = loops.weigh(logits, from, Math.min(from + CHUNK, end), largest, temperature, chunk);
            total += chunkSums[i];
        }
        return total;
    }

    /** @param mostRanks the vocabulary's size if only {@code topP} filters */
    private int drawRanked(float[] logits, int start, int end, float largest, float temperature, int mostRanks,
                           float topP, double uniform) {
        reserve(end - start);
        boolean isCounted = mostRanks < end - start;
        double wanted = isCounted ? 0 : topP * sumOfWeights(logits, start, end, largest, temperature);
        for (double span = FIRST_SPAN;; span *= 2) {
            double mass = findNear(logits, start, end, largest, temperature, span);
            if (span >= WIDEST_SPAN || (isCounted ? nearCount >= mostRanks : mass >= wanted)) {
                break;
            }
        }
        buildHeap();
        int stays = Math.min(mostRanks, nearCount);
        if (isCounted) {
            double total = 0;
            while (rankedCount < stays) {
                total += nearWeights[takeNextRank()];
            }
            wanted = topP * total;
        }
        stays = topP < 1 ? shortestRun(stays, wanted) : stays;
        for (int rank = 0; rank < stays; rank++) {
            kept[ranked[rank]] = true;
        }
        return near[walkKept(uniform)];
    }

    /** @return sum of the weights of those found */
    private double findNear(float[] logits, int start, int end, float largest, float temperature, double span) {
        float bound = span >= WIDEST_SPAN ? Float.NEGATIVE_INFINITY : (float) (largest - span * temperature);
        nearCount = loops.listAbove(logits, start, end, bound, near);
        for (int i = 0; i < nearCount; i++) {
            nearLogits[i] = logits[near[i]];
        }
        return loops.weigh(nearLogits, 0, nearCount, largest, temperature, nearWeights);
    }

    private int shortestRun(int mostRanks, double wanted) {
        double cumulative = 0;
        for (int rank = 0; rank < mostRanks; rank++) {
            cumulative += nearWeights[rank < rankedCount ? ranked[rank] : takeNextRank()];
            if (cumulative >= wanted) {
                return rank + 1;
            }
        }
        return mostRanks;
    }

    /** Draws from those kept, and keeps nobody afterwards. */
    private int walkKept(double uniform) {
        double total = 0;
        for (int i = 0; i < nearCount; i++) {
            nearWeights[i] = kept[i] ? nearWeights[i] : 0;
            kept[i] = false;
            total += nearWeights[i];
        }
        return walk(nearWeights, nearCount, 0, uniform * total);
    }

    /** The first that the sum exceeds the target with; the last that weighs anything if rounding lets it stay below. */
    private static int walk(double[] weights, int count, double before, double target) {
        double cumulative = before;
        int last = 0;
        for (int i = 0; i < count; i++) {
            if (weights[i] > 0) {
                last = i;
                cumulative += weights[i];
                if (cumulative > target) {
                    return i;
                }
            }
        }
        return last;
    }

    // ---- ranks: a min-heap of (logit descending, id ascending), packed so that the better of two is the smaller long

    private void buildHeap() {
        for (int i = 0; i < nearCount; i++) {
            int bits = Float.floatToIntBits(nearLogits[i] + 0f);     // + 0f: -0 and 0 are equal logits
            int ascending = bits ^ (bits >> 31 & Integer.MAX_VALUE);
            heap[i] = (long) ~ascending << 32 | i;
        }
        heapSize = nearCount;
        rankedCount = 0;
        for (int parent = heapSize / 2 - 1; parent >= 0; parent--) {
            siftDown(parent);
        }
    }

    private int takeNextRank() {
        int place = (int) heap[0];
        heap[0] = heap[--heapSize];
        siftDown(0);
        ranked[rankedCount++] = place;
        return place;
    }

    private void siftDown(int parent) {
        long moving = heap[parent];
        for (int child = 2 * parent + 1; child < heapSize; child = 2 * parent + 1) {
            if (child + 1 < heapSize && heap[child + 1] < heap[child]) {
                child++;
            }
            if (moving <= heap[child]) {
                break;
            }
            heap[parent] = heap[child];
            parent = child;
        }
        heap[parent] = moving;
    }

    private void reserve(int vocabularySize) {
        if (near.length < vocabularySize) {
            near = new int[vocabularySize];
            nearLogits = new float[vocabularySize];
            nearWeights = new double[vocabularySize];
            kept = new boolean[vocabularySize];
            ranked = new int[vocabularySize];
            heap = new long[vocabularySize];
        }
    }
}
