package dev.warmpath.protocol.fleet;

/**
 * What a device step takes at a worker, as it has measured itself:
 * <pre>
 * stepMicros + promptTokenMicros x prompt tokens + rowMicros x sequences that decode
 *            + contextTokenNanos x tokens of their contexts
 * </pre>
 * On a card the fixed part, reading the weights, is most of a step that decodes, so another stream costs the others
 * little; on processors it costs them about as much as itself.
 *
 * @param stepMicros        of every step, in microseconds, as are the next two
 * @param promptTokenMicros for each token of a prompt; at least a nanosecond, for other costs are told in these
 * @param rowMicros         for each sequence that draws from its last token alone
 * @param contextTokenNanos for each token in the cache of such a sequence, in nanoseconds
 */
public record StepCost(double stepMicros, double promptTokenMicros, double rowMicros, double contextTokenNanos) {

    /** A quarter of an hour: nothing that is measured comes near. */
    public static final double MOST = 1e9;

    /** A nanosecond, so that what is told in prompt tokens is finite. */
    private static final double LEAST_PROMPT_TOKEN = 1e-3;

    /** About a model of 70 billion parameters on four cards of 2024; stands for a worker that does not tell. */
    public static final StepCost USUAL = new StepCost(12_000, 105, 20, 35);

    public StepCost {
        check("stepMicros", stepMicros);
        check("promptTokenMicros", promptTokenMicros);
        check("rowMicros", rowMicros);
        check("contextTokenNanos", contextTokenNanos);
        if (promptTokenMicros < LEAST_PROMPT_TOKEN) {
            throw new IllegalArgumentException(
                    "promptTokenMicros " + promptTokenMicros + " is below " + LEAST_PROMPT_TOKEN);
        }
    }

    /** The part of every step that does not depend on what is in it, in prompt tokens. */
    public double fixedTokens() {
        return stepMicros / promptTokenMicros;
    }

    /** What decoding sequences add to a step, in prompt tokens. @param contextTokens of all of them together */
    public double rowTokens(int sequences, long contextTokens) {
        return (rowMicros * sequences + contextTokenNanos / 1e3 * contextTokens) / promptTokenMicros;
    }

    private static void check(String field, double value) {
        if (!(value >= 0 && value <= MOST)) {
            throw new IllegalArgumentException(field + " " + value + " is not from 0 to " + MOST);
        }
    }
}
