package dev.warmpath.worker.compute;

/**
 * How a token is drawn from logits. Every backend follows this rule, so that equal logits give the equal token:
 * <p>Step 0, of rows that ask for it, by {@link LogitAdjustments}, vLLM's rules in vLLM's order, in float32 with each
 * operation rounded by itself:
 * <pre>
 *   all tokens         masked where only some are allowed and this is none of them
 *   entries ≥ 0        x = logit + bias
 *                      in prompt or answer:  x = x &gt; 0 ? x / repetition : x · repetition
 *                      n times in answer:    x = x − frequency · n, then x = x − presence
 *                      what was finite stays so: at most float32's largest, either way
 *   entries &lt; 0        masked
 *   cut                x &lt; largest x + cut: masked; cut is temperature · ln(min-p), 0 is greedy and has none
 * </pre>
 * Masked is −infinity, but what is unusable stays so. Then:
 * <ol>
 * <li>{@code temperature} 0 takes the largest logit, the lowest id among equals. Steps 2 to 5 are skipped.
 * <li>Tokens are ranked by (logit descending, id ascending); with {@code topK} &gt; 0 only the first {@code topK} stay.
 * <li>Each gets the weight {@code exp((logit - largest logit) / temperature)} in float64.
 * <li>With {@code topP} &lt; 1 the shortest run of ranks stays whose weights sum to at least {@code topP} times the sum
 *     over the tokens of step 2; at least one token stays.
 * <li>Walking the tokens left by ascending id, the first one is drawn whose cumulative weight exceeds u times their
 *     sum; u is {@link Philox#uniform} of {@code seed} and the index that the new token will have in its sequence.
 * </ol>
 * Sums are float64. Their order of addition is free: it decides only where u lies within about 1e-12 of an edge.
 * From logits that are NaN or +infinity, or all -infinity, nothing is drawn: they are unusable. From those of which step
 * 0 left only such, nothing is drawn, either, but they are only masked.
 *
 * @param seed        key of the generator; the same seed draws the same tokens
 * @param temperature 0 is greedy; otherwise at least {@link #MIN_TEMPERATURE}
 * @param topK        0 is off
 * @param topP        in (0, 1]; 1 is off
 * @param logprob     whether the log-probability of the drawn token is wanted: of the logits as they are, before
 *                    step 0, temperature and filters
 */
public record Sampling(long seed, float temperature, int topK, float topP, boolean logprob) {

    /** Below this, dividing by the temperature leaves nothing but the largest logit; ask for 0. */
    public static final float MIN_TEMPERATURE = 1e-4f;

    private static final Sampling GREEDY = new Sampling(0, 0, 0, 1, false);

    public Sampling {
        if (!(temperature == 0 || temperature >= MIN_TEMPERATURE && temperature < Float.POSITIVE_INFINITY)) {
            throw new IllegalArgumentException(
                    "temperature is %s, takes 0 or %s and above".formatted(temperature, MIN_TEMPERATURE));
        }
        if (topK < 0) {
            throw new IllegalArgumentException("topK is %d, takes 0 (off) and above".formatted(topK));
        }
        if (!(topP > 0 && topP <= 1)) {
            throw new IllegalArgumentException("topP is %s, takes above 0 up to 1 (off)".formatted(topP));
        }
    }

    public static Sampling greedy() {
        return GREEDY;
    }
}
