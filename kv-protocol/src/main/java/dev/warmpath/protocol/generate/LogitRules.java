package dev.warmpath.protocol.generate;

import com.fasterxml.jackson.annotation.JsonAnySetter;
import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.Nulls;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * What a request asks of the logits before a token is drawn from them, greedily or not. A worker that takes such rules
 * says so at registration; another one would pass over them. In JSON, absent members ask for nothing, and one that is
 * none of these is refused: it may be a rule that came later.
 *
 * <p>In this order, vLLM's:
 * <ol>
 * <li>Of {@code allowedTokens}, if there are any, all others are masked: never drawn.
 * <li>A bad word's last token is masked where the tokens generated last are the word's others.
 * <li>End tokens are masked before {@link StopConditions#minTokens}, and {@code biases} are added.
 * <li>{@code repetitionPenalty} r divides positive logits of tokens that the prompt or the answer has, and multiplies
 *     others; a token that is in the answer n times then loses n times {@code frequencyPenalty}, and
 *     {@code presencePenalty}.
 * <li>After the temperature, tokens less likely than {@code minP} times the likeliest are masked; then top-k and top-p
 *     cut what is left.
 * </ol>
 * Log-probabilities are those of the logits before all of this. Arrays are handed over, not copied: nobody writes them
 * any more.
 *
 * @param minP              0 to 1; 0 = off
 * @param presencePenalty   -2 to 2; 0 = off
 * @param frequencyPenalty  -2 to 2; 0 = off
 * @param repetitionPenalty above 0, at most 2; 1 = off
 * @param biasedTokens      ids without a double, at most {@link #MAX_BIASES}
 * @param biases            of each of these, -100 to 100
 * @param allowedTokens     at most {@link #MAX_ALLOWED_TOKENS} ids; empty = all
 * @param badWords          at most {@link #MAX_BAD_WORDS}, each of 1 to {@link #MAX_BAD_WORD_TOKENS} ids
 */
public record LogitRules(
        float minP,
        float presencePenalty,
        float frequencyPenalty,
        float repetitionPenalty,
        int[] biasedTokens,
        float[] biases,
        int[] allowedTokens,
        int[][] badWords) {

    /** Of presence and frequency, either way, and of repetition. */
    public static final float MAX_PENALTY = 2f;
    /** OpenAI's. */
    public static final int MAX_BIASES = 300;
    public static final float MAX_BIAS = 100f;
    public static final int MAX_ALLOWED_TOKENS = 8_192;
    /** With and without a space before them, 128 words. */
    public static final int MAX_BAD_WORDS = 256;
    public static final int MAX_BAD_WORD_TOKENS = 256;

    private static final int[] NO_TOKENS = {};
    private static final int[][] NO_WORDS = {};

    /** Logits stay as they are. */
    public static final LogitRules NONE =
            new LogitRules(0f, 0f, 0f, 1f, NO_TOKENS, new float[0], NO_TOKENS, NO_WORDS);

    public LogitRules {
        // written so that NaN fails, too
        require(minP >= 0f && minP <= 1f, "minP", minP, "0 to 1");
        require(Math.abs(presencePenalty) <= MAX_PENALTY, "presencePenalty", presencePenalty, "-2 to 2");
        require(Math.abs(frequencyPenalty) <= MAX_PENALTY, "frequencyPenalty", frequencyPenalty, "-2 to 2");
        require(repetitionPenalty > 0f && repetitionPenalty <= MAX_PENALTY, "repetitionPenalty", repetitionPenalty,
                "0 (excluded) to 2");
        requireAtMost(biasedTokens.length, MAX_BIASES, "biasedTokens");
        if (biases.length != biasedTokens.length) {
            throw new IllegalArgumentException(biases.length + " biases of " + biasedTokens.length + " biasedTokens");
        }
        for (float bias : biases) {
            require(Math.abs(bias) <= MAX_BIAS, "bias", bias, "-100 to 100");
        }
        if (Arrays.stream(biasedTokens).distinct().count() < biasedTokens.length) {
            throw new IllegalArgumentException("biasedTokens names a token twice");
        }
        requireAtMost(allowedTokens.length, MAX_ALLOWED_TOKENS, "allowedTokens");
        requireAtMost(badWords.length, MAX_BAD_WORDS, "badWords");
        for (int[] word : badWords) {
            if (word.length == 0 || word.length > MAX_BAD_WORD_TOKENS) {
                throw new IllegalArgumentException("a bad word of " + word.length + " tokens, 1 to "
                        + MAX_BAD_WORD_TOKENS + " are taken");
            }
        }
    }

    @JsonCreator
    static LogitRules of(
            @JsonProperty("minP") @Nullable Float minP,
            @JsonProperty("presencePenalty") @Nullable Float presencePenalty,
            @JsonProperty("frequencyPenalty") @Nullable Float frequencyPenalty,
            @JsonProperty("repetitionPenalty") @Nullable Float repetitionPenalty,
            @JsonProperty("biasedTokens") @JsonSetter(nulls = Nulls.AS_EMPTY) int[] biasedTokens,
            @JsonProperty("biases") @JsonSetter(nulls = Nulls.AS_EMPTY) float[] biases,
            @JsonProperty("allowedTokens") @JsonSetter(nulls = Nulls.AS_EMPTY) int[] allowedTokens,
            @JsonProperty("badWords") @JsonSetter(nulls = Nulls.AS_EMPTY) int[][] badWords) {
        return new LogitRules(orElse(minP, 0f), orElse(presencePenalty, 0f), orElse(frequencyPenalty, 0f),
                orElse(repetitionPenalty, 1f), biasedTokens, biases, allowedTokens, badWords);
    }

    private static float orElse(@Nullable Float value, float absent) {
        return value == null ? absent : value;
    }

    @JsonAnySetter
    private void refuse(String member, @Nullable Object value) {
        throw new IllegalArgumentException("logitRules has a member '" + member + "' that nobody here knows");
    }

    private static void require(boolean condition, String name, float value, String range) {
        if (!condition) {
            throw new IllegalArgumentException(name + " " + value + " is outside " + range);
        }
    }

    private static void requireAtMost(int count, int most, String name) {
        if (count > most) {
            throw new IllegalArgumentException(name + " has " + count + " elements, at most " + most + " are taken");
        }
    }

    public LogitRules withMinP(float least) {
        return new LogitRules(least, presencePenalty, frequencyPenalty, repetitionPenalty, biasedTokens, biases,
                allowedTokens, badWords);
    }

    public LogitRules withPenalties(float presence, float frequency, float repetition) {
        return new LogitRules(minP, presence, frequency, repetition, biasedTokens, biases, allowedTokens, badWords);
    }

    public LogitRules withBiases(int[] tokens, float... values) {
        return new LogitRules(minP, presencePenalty, frequencyPenalty, repetitionPenalty, tokens, values,
                allowedTokens, badWords);
    }

    public LogitRules withAllowedTokens(int... tokens) {
        return new LogitRules(minP, presencePenalty, frequencyPenalty, repetitionPenalty, biasedTokens, biases, tokens,
                badWords);
    }

    public LogitRules withBadWords(int[]... words) {
        return new LogitRules(minP, presencePenalty, frequencyPenalty, repetitionPenalty, biasedTokens, biases,
                allowedTokens, words);
    }

    /** True if it counts which tokens the prompt has. */
    public boolean countsPrompt() {
        return repetitionPenalty != 1f;
    }

    /** True if it counts how often the answer has each token. */
    public boolean countsAnswer() {
        return countsPrompt() || presencePenalty != 0f || frequencyPenalty != 0f;
    }

    /** True if what may be drawn depends on which tokens were drawn before. */
    public boolean looksBack() {
        return countsAnswer() || Arrays.stream(badWords).anyMatch(word -> word.length > 1);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof LogitRules that && minP == that.minP && presencePenalty == that.presencePenalty
                && frequencyPenalty == that.frequencyPenalty && repetitionPenalty == that.repetitionPenalty
                && Arrays.equals(biasedTokens, that.biasedTokens) && Arrays.equals(biases, that.biases)
                && Arrays.equals(allowedTokens, that.allowedTokens) && Arrays.deepEquals(badWords, that.badWords);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(biasedTokens) * 31 + Arrays.hashCode(allowedTokens);
    }

    @Override
    public String toString() {
        return "LogitRules[minP=" + minP + ", presencePenalty=" + presencePenalty + ", frequencyPenalty="
                + frequencyPenalty + ", repetitionPenalty=" + repetitionPenalty + ", " + biasedTokens.length
                + " biases, " + allowedTokens.length + " allowed tokens, " + badWords.length + " bad words]";
    }
}
