package dev.warmpath.worker.engine;

import dev.warmpath.protocol.generate.LogitRules;
import dev.warmpath.worker.compute.LogitAdjustments;
import dev.warmpath.worker.kvcache.TokenSequence;
import dev.warmpath.worker.model.InputBatch;
import dev.warmpath.worker.model.RowAdjustment;
import dev.warmpath.worker.scheduler.ScheduledBatch;
import dev.warmpath.worker.scheduler.Sequence;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * What a sequence's rules come to at each of its tokens. Keeps an entry for each token that they speak of, and counts
 * the answer's as they become known; so a step costs a copy of the entries, wherever the sequence was computed before.
 *
 * <p>The last token of an answer may be drawn and not known here yet: then the device counts it. Further ones are not,
 * for sequences whose rules look back ({@link Sequence#looksBack}) are not drawn several steps ahead.
 */
final class LogitShaper {

    private static final int FEW = 16;

    private final Sequence sequence;
    private final LogitRules rules;
    private final RowAdjustment row;
    private final int[] endTokens;
    /** Entries by their token: one more than their index, at the first free place from the token's own on; 0 is free. */
    private int[] places = new int[2 * FEW];
    private int[] ids = new int[FEW];
    private float[] biases = new float[FEW];
    private int[] notes = new int[FEW];
    private int count;
    /** Tokens of the sequence that were counted, the prompt's among them. */
    private int countedTokens;

    private LogitShaper(Sequence sequence) {
        this.sequence = sequence;
        rules = sequence.sampling().rules();
        endTokens = sequence.stop().minTokens() > 0 ? sequence.endTokens() : new int[0];
        row = new RowAdjustment(rules.repetitionPenalty(), rules.frequencyPenalty(), rules.presencePenalty(),
                cut(rules.minP(), sequence.sampling().temperature()), rules.allowedTokens().length > 0);
        for (int i = 0; i < rules.biasedTokens().length; i++) {
            int entry = entry(rules.biasedTokens()[i]);
            biases[entry] = rules.biases()[i];
        }
        for (int token : rules.allowedTokens()) {
            note(token, LogitAdjustments.ALLOWED);
        }
        TokenSequence tokens = sequence.tokens();
        countedTokens = tokens.promptLength();
        for (int position = 0; rules.countsPrompt() && position < countedTokens; position++) {
            note(tokens.token(position), LogitAdjustments.PROMPT);
        }
    }

    /** Reads the prompt. @return null if the sequence's logits stay as they are */
    static @Nullable LogitShaper of(Sequence sequence) {
        return sequence.adjustsLogits() ? new LogitShaper(sequence) : null;
    }

    /** The largest token stays, so a greedy row needs none. */
    private static float cut(float minP, float temperature) {
        return minP == 0 || temperature == 0 ? Float.NEGATIVE_INFINITY : (float) (temperature * Math.log(minP));
    }

    /**
     * Adjusts the sequence's row, which was added last.
     * @param drawnIndex     of the token to be drawn, in the sequence
     * @param feed           the row of the step before that draws its last token, or {@link ScheduledBatch#NO_SAMPLE}
     * @param vocabularySize end tokens beyond it are nobody's
     */
    void shape(InputBatch input, int drawnIndex, int feed, int vocabularySize) {
        TokenSequence tokens = sequence.tokens();
        boolean ends = drawnIndex - tokens.promptLength() >= sequence.stop().minTokens();
        if (ends && sequence.sampling().logitRules() == null) {
            return;
        }
        int unknown = drawnIndex - tokens.tokenCount();
        boolean counts = sequence.looksBack() && unknown > 0;
        if (counts && (unknown > 1 || feed == ScheduledBatch.NO_SAMPLE)) {
            throw new IllegalStateException(sequence + " is drawn " + unknown + " tokens ahead, its rules look back");
        }
        count(tokens);
        input.adjust(row, counts ? feed : ScheduledBatch.NO_SAMPLE);
        input.addEntries(ids, biases, notes, count);
        for (int i = 0; i < endTokens.length && !ends; i++) {
            if (endTokens[i] < vocabularySize) {
                input.ban(endTokens[i], LogitAdjustments.BAN);
            }
        }
        for (int[] word : rules.badWords()) {
            banLast(input, word, drawnIndex);
        }
        if (counts) {
            input.addFreeEntry();
        }
    }

    private void count(TokenSequence tokens) {
        if (rules.countsAnswer()) {
            for (; countedTokens < tokens.tokenCount(); countedTokens++) {
                int entry = entry(tokens.token(countedTokens));
                notes[entry] += LogitAdjustments.ONCE;
            }
        }
    }

    private void note(int token, int flag) {
        int entry = entry(token);                                   // first: it may move the notes
        notes[entry] |= flag;
    }

    /** The last token of a word that the answer's end begins, as far as it is known. */
    private void banLast(InputBatch input, int[] word, int drawnIndex) {
        TokenSequence tokens = sequence.tokens();
        int first = drawnIndex - word.length + 1;
        if (first < tokens.promptLength()) {
            return;
        }
        int note = LogitAdjustments.BAN;
        for (int position = first; position < drawnIndex; position++) {
            int wanted = word[position - first];
            if (position == tokens.tokenCount()) {
                note = LogitAdjustments.banAfter(wanted);
            } else if (tokens.token(position) != wanted) {
                return;
            }
        }
        input.ban(word[word.length - 1], note);
    }

    /** Where a token's entry is, made if there was none. */
    private int entry(int token) {
        if (4 * count >= 3 * ids.length) {
            grow();
        }
        int place = place(token);
        if (places[place] == 0) {
            ids[count] = token;
            places[place] = ++count;
        }
        return places[place] - 1;
    }

    private int place(int token) {
        int place = (token * 0x9E3779B9) >>> Integer.numberOfLeadingZeros(places.length - 1);
        while (places[place] != 0 && ids[places[place] - 1] != token) {
            place = place + 1 & places.length - 1;
        }
        return place;
    }

    private void grow() {
        ids = Arrays.copyOf(ids, 2 * ids.length);
        biases = Arrays.copyOf(biases, ids.length);
        notes = Arrays.copyOf(notes, ids.length);
        places = new int[2 * ids.length];
        for (int i = 0; i < count; i++) {
            places[place(ids[i])] = i + 1;
        }
    }
}
