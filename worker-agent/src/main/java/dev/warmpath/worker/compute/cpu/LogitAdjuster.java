package dev.warmpath.worker.compute.cpu;

import dev.warmpath.worker.compute.LogitAdjustments;
import dev.warmpath.worker.compute.SampledTokens;

/**
 * Step 0 of the rule of {@link dev.warmpath.worker.compute.Sampling}, one row at a time, over the arrays of one step. The
 * logits stay as they are, since log-probabilities are theirs. Members of a team may adjust rows of a step side by side.
 */
final class LogitAdjuster {

    private int[] modes = new int[0];
    private int[] starts = new int[0];
    private int[] sources = new int[0];
    private float[] repetitions = new float[0];
    private float[] frequencies = new float[0];
    private float[] presences = new float[0];
    private float[] cuts = new float[0];
    private int[] ids = new int[0];
    private float[] biases = new float[0];
    private int[] notes = new int[0];
    private int[] drawnBefore = new int[0];

    /** Turns to a step. @param before what the step before drew; read when a row is adjusted */
    void open(LogitAdjustments adjustments, int[] before, int rowCount) {
        modes = Handles.ints(adjustments.modes(), rowCount);
        starts = Handles.ints(adjustments.starts(), rowCount + 1);
        sources = Handles.ints(adjustments.sources(), rowCount);
        repetitions = Handles.floats(adjustments.repetitions(), rowCount);
        frequencies = Handles.floats(adjustments.frequencies(), rowCount);
        presences = Handles.floats(adjustments.presences(), rowCount);
        cuts = Handles.floats(adjustments.cuts(), rowCount);
        ids = Handles.ints(adjustments.ids(), 1);
        biases = Handles.floats(adjustments.biases(), 1);
        notes = Handles.ints(adjustments.notes(), 1);
        drawnBefore = before;
    }

    boolean adjusts(int row) {
        return modes[row] != LogitAdjustments.PLAIN;
    }

    /** Sets {@code adjusted} to a row's adjusted logits, from 0. */
    void adjust(float[] logits, int row, int vocabularySize, LogitLoops loops, float[] adjusted) {
        int first = row * vocabularySize;
        System.arraycopy(logits, first, adjusted, 0, vocabularySize);
        boolean allowedOnly = modes[row] == LogitAdjustments.ALLOWED_ONLY;
        if (allowedOnly) {
            loops.maskBelow(adjusted, 0, vocabularySize, Float.POSITIVE_INFINITY);
        }
        int last = sources[row] < 0 ? SampledTokens.NO_TOKEN : drawnBefore[sources[row]];
        boolean isCounted = last < 0;
        for (int entry = starts[row]; entry < starts[row + 1]; entry++) {
            int id = ids[entry];
            if (notes[entry] >= 0 && id != LogitAdjustments.NO_ID) {
                isCounted |= id == last;
                if (!allowedOnly || (notes[entry] & LogitAdjustments.ALLOWED) != 0) {
                    adjusted[id] = penalized(logits[first + id] + biases[entry], row,
                            notes[entry] + (id == last ? LogitAdjustments.ONCE : 0));
                }
            }
        }
        if (!isCounted && !allowedOnly) {
            adjusted[last] = penalized(logits[first + last], row, LogitAdjustments.ONCE);
        }
        ban(row, last, adjusted);
        cut(cuts[row], vocabularySize, loops, adjusted);
    }

    private float penalized(float logit, int row, int note) {
        int count = note / LogitAdjustments.ONCE;
        float result = logit;
        if (count > 0 || (note & LogitAdjustments.PROMPT) != 0) {
            result = result > 0 ? result / repetitions[row] : result * repetitions[row];
        }
        result = count > 0 ? result - frequencies[row] * count - presences[row] : result;
        return Math.abs(logit) <= Float.MAX_VALUE ? Math.clamp(result, -Float.MAX_VALUE, Float.MAX_VALUE) : result;
    }

    private void ban(int row, int last, float[] adjusted) {
        for (int entry = starts[row]; entry < starts[row + 1]; entry++) {
            int note = notes[entry];
            if (note == LogitAdjustments.BAN || note < 0 && last >= 0 && note == LogitAdjustments.banAfter(last)) {
                mask(ids[entry], adjusted);
            }
        }
    }

    private static void cut(float cut, int vocabularySize, LogitLoops loops, float[] adjusted) {
        float largest = cut == Float.NEGATIVE_INFINITY ? cut : loops.largest(adjusted, 0, vocabularySize);
        if (Float.isFinite(largest)) {
            loops.maskBelow(adjusted, 0, vocabularySize, largest + cut);
        }
    }

    /** What is unusable stays so. */
    private static void mask(int id, float[] adjusted) {
        if (adjusted[id] < Float.POSITIVE_INFINITY) {
            adjusted[id] = Float.NEGATIVE_INFINITY;
        }
    }
}
