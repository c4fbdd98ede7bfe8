package dev.warmpath.planner.simulation;

import dev.warmpath.worker.scheduler.ScheduledBatch;

/**
 * How long a worker's step takes: a fixed part, and what its tokens add. A token of a prompt costs its matrix products
 * and attention to all before it; a running sequence costs a row, and the reading of its context.
 *
 * @param stepMicros         of every step
 * @param promptTokenMicros  for each token that is not a sequence's last
 * @param pairNanos          for each of those tokens and each token before it
 * @param rowMicros          for each sequence that draws from its last token alone
 * @param contextTokenNanos  for each token of that one's context
 * @param requestMicros      beside steps, for each request: from router to worker, and its first token back
 */
public record ServiceModel(double stepMicros, double promptTokenMicros, double pairNanos, double rowMicros,
        double contextTokenNanos, double requestMicros) {

    /** With no time beside steps. */
    public ServiceModel(double stepMicros, double promptTokenMicros, double pairNanos, double rowMicros,
            double contextTokenNanos) {
        this(stepMicros, promptTokenMicros, pairNanos, rowMicros, contextTokenNanos, 0);
    }

    /** About a model of 70 billion parameters on four cards of 2024. */
    public static final ServiceModel LARGE_ON_FOUR_CARDS = new ServiceModel(12_000, 105, 2, 20, 35);

    /**
     * {@code warmpath-tiny} on one thread of a processor of 2024 with AVX-512, as the worker measured it of itself with
     * eight clients, whose contexts were about 1,150 tokens: a row alone costs next to nothing beside the reading of
     * its context.
     */
    public static final ServiceModel TINY_ON_A_PROCESSOR = new ServiceModel(194, 67, 0, 0, 102);

    /** Everything in a step takes so many times as long. */
    public ServiceModel slower(double factor) {
        return new ServiceModel(stepMicros * factor, promptTokenMicros * factor, pairNanos * factor,
                rowMicros * factor, contextTokenNanos * factor, requestMicros);
    }

    /** The same with so much time beside steps. */
    public ServiceModel withRequestMicros(double micros) {
        return new ServiceModel(stepMicros, promptTokenMicros, pairNanos, rowMicros, contextTokenNanos, micros);
    }

    /** Computing the last tokens of a prompt, without the step's fixed part. */
    public double promptMicros(int promptTokens, int uncachedTokens) {
        return promptTokenMicros * uncachedTokens
                + pairNanos / 1e3 * pairs(promptTokens - uncachedTokens, uncachedTokens);
    }

    private static double pairs(int before, int tokens) {
        return tokens * (before + tokens / 2.0);
    }

    double micros(ScheduledBatch batch) {
        double micros = stepMicros;
        for (int entry = 0; entry < batch.size(); entry++) {
            int tokens = batch.tokenCount(entry);
            int before = batch.firstPosition(entry);
            micros += tokens == 1 ? rowMicros + contextTokenNanos / 1e3 * before
                    : promptTokenMicros * tokens + pairNanos / 1e3 * pairs(before, tokens);
        }
        return micros;
    }
}
