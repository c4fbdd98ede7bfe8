package dev.warmpath.protocol.generate;

/**
 * How the next token is drawn from its logits. The draw depends on logits, seed and position only, so that a replay on
 * any worker of the revision repeats it.
 *
 * @param temperature 0 = greedy (the most likely token, the lowest id among equals); otherwise 0.0001 to 2
 * @param topK        only the k most likely tokens are drawn from; 0 = all
 * @param topP        only the most likely tokens that together reach this probability; above 0, up to 1 = all
 * @param seed        key of the counter-based generator; the counter is the token's position
 */
public record SamplingParameters(float temperature, int topK, float topP, long seed) {

    /** Below this, dividing by the temperature leaves nothing but the largest logit. */
    public static final float MIN_TEMPERATURE = 1e-4f;
    public static final float MAX_TEMPERATURE = 2f;
    public static final SamplingParameters GREEDY = new SamplingParameters(0f, 0, 1f, 0L);

    public SamplingParameters {
        // written so that NaN fails, too
        if (!(temperature == 0f || temperature >= MIN_TEMPERATURE && temperature <= MAX_TEMPERATURE)) {
            throw new IllegalArgumentException("temperature " + temperature + " is neither 0 nor within "
                    + MIN_TEMPERATURE + " to " + MAX_TEMPERATURE);
        }
        if (topK < 0) {
            throw new IllegalArgumentException("topK " + topK + " is negative");
        }
        if (!(topP > 0f && topP <= 1f)) {
            throw new IllegalArgumentException("topP " + topP + " is outside 0 (excluded) to 1");
        }
    }
}
