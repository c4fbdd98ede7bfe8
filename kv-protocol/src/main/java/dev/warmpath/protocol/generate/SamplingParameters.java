package dev.warmpath.protocol.generate;

import com.fasterxml.jackson.annotation.JsonInclude;
import org.jspecify.annotations.Nullable;

/**
 * How the next token is drawn from its logits. The draw depends on logits, seed, position and, with rules, the tokens
 * before it only, so that a replay on any worker of the revision repeats it.
 *
 * @param temperature 0 = greedy (the most likely token, the lowest id among equals); otherwise 0.0001 to 2
 * @param topK        only the k most likely tokens are drawn from; 0 = all
 * @param topP        only the most likely tokens that together reach this probability; above 0, up to 1 = all
 * @param seed        key of the counter-based generator; the counter is the token's position
 * @param logitRules  what is done to the logits before; null = nothing, {@link LogitRules#NONE} becomes that
 */
public record SamplingParameters(
        float temperature,
        int topK,
        float topP,
        long seed,
        @JsonInclude(JsonInclude.Include.NON_NULL) @Nullable LogitRules logitRules) {

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
        if (LogitRules.NONE.equals(logitRules)) {
            logitRules = null;
        }
    }

    /** From the logits as they are. */
    public SamplingParameters(float temperature, int topK, float topP, long seed) {
        this(temperature, topK, topP, seed, null);
    }

    public SamplingParameters withSeed(long other) {
        return new SamplingParameters(temperature, topK, topP, other, logitRules);
    }

    public SamplingParameters with(LogitRules rules) {
        return new SamplingParameters(temperature, topK, topP, seed, rules);
    }

    /** The rules, never null. */
    public LogitRules rules() {
        return logitRules == null ? LogitRules.NONE : logitRules;
    }
}
