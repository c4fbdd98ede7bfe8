package dev.warmpath.worker.compute;

/**
 * Where a step leaves how likely tokens are; one for each step that is outstanding at the same time. Everything is of
 * the logits as they are: log-probabilities are natural logarithms of their softmax, minus infinity where a token is
 * excluded. What a row does not ask for is unspecified.
 * @param logprobs    F32 [rows, 1]; of the target
 * @param ranks       I32 [rows, 1]; how many tokens have a logit at least as large as the target's, itself included, so
 *                    that 1 is the likeliest and equals share the last of their places; {@link #UNUSABLE} if a logit is
 *                    NaN or +infinity, or all are -infinity, also where there is no target: nothing else is told then
 * @param topIds      I32 [rows, {@value #MOST_LIKELIEST}]; the likeliest tokens, the lower id first among equal logits
 * @param topLogprobs F32 [rows, {@value #MOST_LIKELIEST}]
 */
public record ScoredTokens(Tensor logprobs, Tensor ranks, Tensor topIds, Tensor topLogprobs) {

    /** OpenAI's bound. */
    public static final int MOST_LIKELIEST = 20;
    public static final int UNUSABLE = 0;

    /** On a backend, for so many rows. */
    public static ScoredTokens allocate(ComputeBackend backend, int rows) {
        return new ScoredTokens(backend.allocate(DataType.F32, rows, 1), backend.allocate(DataType.I32, rows, 1),
                backend.allocate(DataType.I32, rows, MOST_LIKELIEST),
                backend.allocate(DataType.F32, rows, MOST_LIKELIEST));
    }
}
