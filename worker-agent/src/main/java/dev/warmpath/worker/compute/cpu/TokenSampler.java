package dev.warmpath.worker.compute.cpu;

import dev.warmpath.worker.compute.Philox;
import dev.warmpath.worker.compute.SampledTokens;

/**
 * The rule of {@link dev.warmpath.worker.compute.Sampling}, one row at a time. Ranks come from a binary heap: building
 * it is linear in the vocabulary, and only the tokens that stay are taken off. Keeps its scratch memory; not
 * thread-safe.
 */
final class TokenSampler {

    private double[] weights = new double[0];
    private boolean[] kept = new boolean[0];
    private int[] ranked = new int[0];
    private long[] heap = new long[0];
    private int heapSize;
    private int rankedCount;

    /** @return the drawn id, or {@link SampledTokens#NO_TOKEN} if the logits are unusable */
    int draw(float[] logits, int start, int vocabularySize, float temperature, int topK, float topP,
             long seed, int counter) {
        int best = largest(logits, start, vocabularySize);
        if (best == SampledTokens.NO_TOKEN || temperature == 0) {
            return best;
        }
        reserve(vocabularySize);
        double max = logits[start + best];
        for (int id = 0; id < vocabularySize; id++) {
            weights[id] = Math.exp((logits[start + id] - max) / temperature);
        }
        boolean ranks = topK > 0 && topK < vocabularySize || topP < 1;
        if (ranks) {
            filter(logits, start, vocabularySize, topK > 0 ? Math.min(topK, vocabularySize) : vocabularySize, topP);
        }
        return walk(vocabularySize, Philox.uniform(seed, counter));
    }

    /** False if one of them is NaN or +infinity, or all are -infinity. */
    static boolean isUsable(float[] logits, int start, int vocabularySize) {
        return largest(logits, start, vocabularySize) != SampledTokens.NO_TOKEN;
    }

    /** The index of the largest, the lowest of equals, or {@link SampledTokens#NO_TOKEN}. */
    static int largest(float[] logits, int start, int vocabularySize) {
        int best = SampledTokens.NO_TOKEN;
        float max = Float.NEGATIVE_INFINITY;
        for (int id = 0; id < vocabularySize; id++) {
            float logit = logits[start + id];
            if (!(logit < Float.POSITIVE_INFINITY)) {
                return SampledTokens.NO_TOKEN;
            }
            if (logit > max) {
                max = logit;
                best = id;
            }
        }
        return best;
    }

    private void filter(float[] logits, int start, int vocabularySize, int topK, float topP) {
        buildHeap(logits, start, vocabularySize);
        double total = 0;
        if (topK < vocabularySize) {
            while (rankedCount < topK) {
                total += weights[takeNextRank()];
            }
        } else {
            for (int id = 0; id < vocabularySize; id++) {
                total += weights[id];
            }
        }
        int stays = topP < 1 ? shortestRun(topK, topP * total) : topK;
        for (int rank = 0; rank < stays; rank++) {
            kept[ranked[rank]] = true;
        }
        for (int id = 0; id < vocabularySize; id++) {
            weights[id] = kept[id] ? weights[id] : 0;
            kept[id] = false;
        }
    }

    private int shortestRun(int topK, double wanted) {
        double cumulative = 0;
        for (int rank = 0; rank < topK; rank++) {
            cumulative += weights[rank < rankedCount ? ranked[rank] : takeNextRank()];
            if (cumulative >= wanted) {
                return rank + 1;
            }
        }
        return topK;
    }

    private int walk(int vocabularySize, double uniform) {
        double total = 0;
        for (int id = 0; id < vocabularySize; id++) {
            total += weights[id];
        }
        double target = uniform * total;
        double cumulative = 0;
        int last = 0;
        for (int id = 0; id < vocabularySize; id++) {
            if (weights[id] > 0) {
                last = id;
                cumulative += weights[id];
                if (cumulative > target) {
                    return id;
                }
            }
        }
        return last;
    }

    // ---- ranks: a min-heap of (logit descending, id ascending), packed so that the better of two is the smaller long

    private void buildHeap(float[] logits, int start, int vocabularySize) {
        for (int id = 0; id < vocabularySize; id++) {
            int bits = Float.floatToIntBits(logits[start + id] + 0f);     // + 0f: -0 and 0 are equal logits
            int ascending = bits ^ (bits >> 31 & Integer.MAX_VALUE);
            heap[id] = (long) ~ascending << 32 | id;
        }
        heapSize = vocabularySize;
        rankedCount = 0;
        for (int parent = heapSize / 2 - 1; parent >= 0; parent--) {
            siftDown(parent);
        }
    }

    private int takeNextRank() {
        int id = (int) heap[0];
        heap[0] = heap[--heapSize];
        siftDown(0);
        ranked[rankedCount++] = id;
        return id;
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
        if (weights.length < vocabularySize) {
            weights = new double[vocabularySize];
            kept = new boolean[vocabularySize];
            ranked = new int[vocabularySize];
            heap = new long[vocabularySize];
        }
    }
}
