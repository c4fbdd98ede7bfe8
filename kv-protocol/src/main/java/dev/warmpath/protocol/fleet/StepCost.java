package dev.warmpath.protocol.fleet;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.Nulls;

/**
 * What a device step takes at a worker, as it has measured itself:
 * <pre>
 * stepMicros + promptTokenMicros x prompt tokens + rowMicros x sequences that decode
 *            + contextTokenNanos x tokens of their contexts
 * </pre>
 * On a card the fixed part, reading the weights, is most of a step that decodes, so another stream costs the others
 * little; on processors it costs them about as much as itself.
 *
 * <p>It is a hint. Whoever reads it asks whether it {@link #isUsable}, and does without if not: a worker is not given up
 * for what it says of this.
 *
 * @param stepMicros        of every step, in microseconds, as are the next two
 * @param promptTokenMicros for each token of a prompt; other costs are told in these
 * @param rowMicros         for each sequence that draws from its last token alone
 * @param contextTokenNanos for each token in the cache of such a sequence, in nanoseconds
 */
public record StepCost(
        @JsonSetter(nulls = Nulls.AS_EMPTY) double stepMicros,
        @JsonSetter(nulls = Nulls.AS_EMPTY) double promptTokenMicros,
        @JsonSetter(nulls = Nulls.AS_EMPTY) double rowMicros,
        @JsonSetter(nulls = Nulls.AS_EMPTY) double contextTokenNanos) {

    /** About a model of 70 billion parameters on four cards of 2024; stands for a worker of which nothing is known. */
    public static final StepCost USUAL = new StepCost(12_000, 105, 20, 35);

    /** A quarter of an hour: nothing that is measured comes near. */
    private static final double MOST = 1e9;
    /** A nanosecond, so that what is told in prompt tokens is finite. */
    private static final double LEAST_PROMPT_TOKEN = 1e-3;

    /** Whether every part is a time that a step can take, and a prompt's token takes any. */
    @JsonIgnore
    public boolean isUsable() {
        return isTime(stepMicros) && isTime(promptTokenMicros) && promptTokenMicros >= LEAST_PROMPT_TOKEN
                && isTime(rowMicros) && isTime(contextTokenNanos);
    }

    private static boolean isTime(double value) {
        return value >= 0 && value <= MOST;
    }

    /** The part of every step that does not depend on what is in it, in prompt tokens. */
    public double fixedTokens() {
        return stepMicros / promptTokenMicros;
    }

    /** What decoding sequences add to a step, in microseconds. @param contextTokens of all of them together */
    public double rowsMicros(int sequences, long contextTokens) {
        return rowMicros * sequences + contextTokenNanos / 1e3 * contextTokens;
    }

    /** Likewise, in prompt tokens. */
    public double rowTokens(int sequences, long contextTokens) {
        return rowsMicros(sequences, contextTokens) / promptTokenMicros;
    }
}
