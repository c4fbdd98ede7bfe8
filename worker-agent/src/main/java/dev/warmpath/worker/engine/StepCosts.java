package dev.warmpath.worker.engine;

import dev.warmpath.protocol.fleet.StepCost;
import org.jspecify.annotations.Nullable;

/**
 * Learns from batches what a step costs: least squares over the last thousand or so, none of the four parts below zero.
 * An error counts by what the batch was expected to take, or took if that is more: so long prompts do not drown short
 * steps, a hiccup counts as being wrong by the whole and no more, however long it is, and one whose time was hidden
 * behind other work, so that it looks like nothing, likewise.
 *
 * <p>Traffic may be all alike for hours, and then says nothing of what is missing in it: each part is held, weakly, to
 * what it was. Nothing here allocates but one batch in {@value #BATCHES_A_FIT}. One thread uses it.
 */
public final class StepCosts {

    /** Fixed, prompt tokens, rows, tokens of rows' contexts. */
    private static final int PARTS = 4;
    private static final int STEPS = 0;
    private static final int PROMPTS = 1;
    private static final int ROWS = 2;
    private static final int CONTEXTS = 3;
    /** A batch counts half after some 700 more. */
    private static final double FADING = 1 - 1.0 / 1_000;
    /** Fewer tell too little to act on. */
    private static final int BATCHES_A_FIT = 32;
    /** Of the most that was ever known of a part: enough to decide what the steps leave open, and no more. */
    private static final double HOLD = 1e-6;

    private final double[][] moments = new double[PARTS][PARTS];
    private final double[] products = new double[PARTS];
    private final double[] part = new double[PARTS];
    private final double[] mostKnown = new double[PARTS];
    private double[] last = new double[PARTS];
    private double meanMicros;
    private long batches;
    private boolean hasPrompts;
    private boolean hasRows;
    private @Nullable StepCost cost;

    /**
     * A batch is over.
     *
     * @param steps         that it took, at least 1
     * @param promptTokens  that they computed
     * @param rows          sequences that drew from their last token alone, in each step anew
     * @param contextTokens of those sequences together
     * @param nanos         how long it took; one that took no time is left out
     */
    public void add(int steps, int promptTokens, int rows, long contextTokens, long nanos) {
        if (nanos <= 0 || promptTokens + rows == 0) {
            return;
        }
        part[STEPS] = steps;
        part[PROMPTS] = promptTokens;
        part[ROWS] = rows;
        part[CONTEXTS] = contextTokens;
        double micros = nanos / 1e3;
        double scale = Math.max(micros, expectedMicros());
        double weight = 1 / (scale * scale);
        for (int i = 0; i < PARTS; i++) {
            for (int j = 0; j <= i; j++) {
                moments[i][j] = moments[i][j] * FADING + weight * part[i] * part[j];
                moments[j][i] = moments[i][j];
            }
            products[i] = products[i] * FADING + weight * part[i] * micros;
            mostKnown[i] = Math.max(mostKnown[i], moments[i][i]);
        }
        batches++;
        meanMicros += (micros - meanMicros) / Math.min(batches, BATCHES_A_FIT);
        hasPrompts |= promptTokens > 0;
        hasRows |= rows > 0;
        if (batches % BATCHES_A_FIT == 0 && hasPrompts && hasRows) {
            fit();
        }
    }

    /** By the last fit; of the first batches as long as they are on average. */
    private double expectedMicros() {
        if (cost == null) {
            return meanMicros;
        }
        double micros = 0;
        for (int i = 0; i < PARTS; i++) {
            micros += last[i] * part[i];
        }
        return micros;
    }

    private void fit() {
        last = leastSquares();
        var fitted = new StepCost(last[STEPS], last[PROMPTS], last[ROWS], last[CONTEXTS] * 1e3);
        cost = fitted.isUsable() ? fitted : cost;
    }

    /** As last found; null until there were batches enough, with prompts and with rows. */
    public @Nullable StepCost cost() {
        return cost;
    }

    /** The best of all choices of parts that are above zero; there are only fifteen. */
    private double[] leastSquares() {
        double[] best = last;
        double least = Double.POSITIVE_INFINITY;
        for (int chosen = 1; chosen < 1 << PARTS; chosen++) {
            double[] parts = solve(chosen);
            if (parts != null) {
                double loss = loss(parts);
                if (loss < least) {
                    least = loss;
                    best = parts;
                }
            }
        }
        return best;
    }

    /** By Gauss-Jordan over the chosen parts, the others zero. @return null if there is none, or one is below zero */
    private double @Nullable [] solve(int chosen) {
        double[][] rows = new double[PARTS][PARTS + 1];
        for (int i = 0; i < PARTS; i++) {
            boolean isChosen = (chosen >> i & 1) == 1;
            for (int j = 0; j < PARTS; j++) {
                rows[i][j] = isChosen && (chosen >> j & 1) == 1 ? moments[i][j] : 0;
            }
            rows[i][i] = isChosen ? moments[i][i] + HOLD * mostKnown[i] : 1;
            rows[i][PARTS] = isChosen ? products[i] + HOLD * mostKnown[i] * last[i] : 0;
        }
        double[] parts = new double[PARTS];
        for (int i = 0; i < PARTS; i++) {
            // symmetric and, held, positive: no pivoting
            if (!(rows[i][i] > 0)) {
                return null;
            }
            for (int other = 0; other < PARTS; other++) {
                double factor = other == i ? 0 : rows[other][i] / rows[i][i];
                for (int j = i; j <= PARTS && factor != 0; j++) {
                    rows[other][j] -= factor * rows[i][j];
                }
            }
        }
        for (int i = 0; i < PARTS; i++) {
            parts[i] = rows[i][PARTS] / rows[i][i];
            if (!(parts[i] >= 0)) {
                return null;
            }
        }
        return parts;
    }

    /** Squared errors, but for what all choices have in common. */
    private double loss(double[] parts) {
        double loss = 0;
        for (int i = 0; i < PARTS; i++) {
            loss -= 2 * parts[i] * products[i];
            for (int j = 0; j < PARTS; j++) {
                loss += parts[i] * parts[j] * moments[i][j];
            }
            double moved = parts[i] - last[i];
            loss += HOLD * mostKnown[i] * moved * moved;
        }
        return loss;
    }
}
