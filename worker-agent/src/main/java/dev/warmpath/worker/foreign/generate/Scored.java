package dev.warmpath.worker.foreign.generate;

import dev.warmpath.worker.engine.TokenScores;
import java.util.Arrays;

/**
 * How likely a token was, as an engine told it.
 *
 * @param rank     0: not told
 * @param ids      the likeliest tokens, likeliest first and the lower id first among equals
 * @param logprobs of these
 */
record Scored(float logprob, int rank, int[] ids, float[] logprobs) implements TokenScores {

    private static final int[] NO_IDS = {};
    private static final float[] NO_LOGPROBS = {};

    /** Of nothing that was asked for. */
    static final Scored NOT_ASKED = new Scored(Float.NaN, 0, NO_IDS, NO_LOGPROBS);

    @Override
    public int likeliestCount() {
        return ids.length;
    }

    @Override
    public int likeliest(int place) {
        return ids[place];
    }

    @Override
    public float logprob(int place) {
        return logprobs[place];
    }

    /** Gathers the likeliest at one place in whatever order an engine tells them; keeps as many as were asked for. */
    static final class Likeliest {

        private final int wanted;
        private final int[] ids;
        private final float[] logprobs;
        private int count;

        Likeliest(int wanted) {
            this.wanted = wanted;
            this.ids = new int[wanted + 1];
            this.logprobs = new float[wanted + 1];
        }

        /** Inserted in order; what falls behind the last place is dropped. */
        void add(int id, float logprob) {
            int place = count;
            while (place > 0 && isBefore(id, logprob, place - 1)) {
                place--;
            }
            if (place >= wanted) {
                return;
            }
            System.arraycopy(ids, place, ids, place + 1, Math.min(count, wanted) - place);
            System.arraycopy(logprobs, place, logprobs, place + 1, Math.min(count, wanted) - place);
            ids[place] = id;
            logprobs[place] = logprob;
            count = Math.min(wanted, count + 1);
        }

        private boolean isBefore(int id, float logprob, int place) {
            return logprob > logprobs[place] || logprob == logprobs[place] && id < ids[place];
        }

        /** @throws UnreadableAnswerException if the engine told fewer than it was asked for */
        Scored of(float logprob, int rank) throws UnreadableAnswerException {
            if (count < wanted) {
                throw new UnreadableAnswerException("it told " + count + " of " + wanted + " likeliest tokens");
            }
            return wanted == 0 ? new Scored(logprob, rank, NO_IDS, NO_LOGPROBS)
                    : new Scored(logprob, rank, Arrays.copyOf(ids, wanted),
                            Arrays.copyOf(logprobs, wanted));
        }
    }
}
