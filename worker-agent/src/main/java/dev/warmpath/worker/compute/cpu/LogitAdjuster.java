package dev.warmpath.worker.compute.cpu;

import dev.warmpath.worker.compute.LogitAdjustments;
import dev.warmpath.worker.compute.SampledTokens;

/**
 * Step 0 of the rule of {@link dev.warmpath.worker.compute.Sampling}, one row at a time, over the arrays of one step. The
 * logits stay as they are, since log-probabilities are theirs.
 */
final class LogitAdjuster {

    private final int[] modes;
    private final int[] starts;
    private final int[] sources;
    private final float[] repetitions;
    private final float[] frequencies;
    private final float[] presences;
    private final float[] cuts;
    private final int[] ids;
    private final float[] biases;
    private final int[] notes;
    private final int[] drawnBefore;
    private float[] adjusted = new float[0];

    /** @param drawnBefore by the step before; read when a row is adjusted */
    LogitAdjuster(LogitAdjustments adjustments, int[] drawnBefore, int rowCount) {
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
        this.drawnBefore = drawnBefore;
    }

    boolean adjusts(int row) {
        return modes[row] != LogitAdjustments.PLAIN;
    }

    /** A row's adjusted logits, from 0; valid until the next call. */
    float[] adjusted(float[] logits, int row, int vocabularySize) {
        int first = row * vocabularySize;
        if (adjusted.length < vocabularySize) {
            adjusted = new float[vocabularySize];
        }
        System.arraycopy(logits, first, adjusted, 0, vocabularySize);
        boolean allowedOnly = modes[row] == LogitAdjustments.ALLOWED_ONLY;
        if (allowedOnly) {
            for (int id = 0; id < vocabularySize; id++) {
                mask(id);
            }
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
        ban(row, last);
        cut(cuts[row], vocabularySize);
        return adjusted;
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

    private void ban(int row, int last) {
        for (int entry = starts[row]; entry < starts[row + 1]; entry++) {
            int note = notes[entry];
            if (note == LogitAdjustments.BAN || note < 0 && last >= 0 && note == LogitAdjustments.banAfter(last)) {
                mask(ids[entry]);
            }
        }
    }

    private void cut(float cut, int vocabularySize) {
        int largest = cut == Float.NEGATIVE_INFINITY ? SampledTokens.NO_TOKEN
                : TokenSampler.largest(adjusted, 0, vocabularySize);
        if (largest == SampledTokens.NO_TOKEN) {
            return;
        }
        float least = adjusted[largest] + cut;
        for (int id = 0; id < vocabularySize; id++) {
            if (adjusted[id] < least) {
                mask(id);
            }
        }
    }

    /** What is unusable stays so. */
    private void mask(int id) {
        if (adjusted[id] < Float.POSITIVE_INFINITY) {
            adjusted[id] = Float.NEGATIVE_INFINITY;
        }
    }
}
