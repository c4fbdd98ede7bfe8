package dev.warmpath.worker.compute;

/**
 * Where a step leaves what it drew; one for each step that is outstanding at the same time.
 * @param tokens   I32 [rows, 1]; {@link #NO_TOKEN} where the logits were unusable, {@link #MASKED} where they were not,
 *                 but their adjustment left nothing to draw from
 * @param logprobs F32 [rows, 1]; NaN where none was wanted
 */
public record SampledTokens(Tensor tokens, Tensor logprobs) {

    /** Drawn from logits from which nothing can be drawn. */
    public static final int NO_TOKEN = -1;
    /** Not drawn, because whoever asked has every token masked: nothing is wrong with model and cache. */
    public static final int MASKED = -2;
}
