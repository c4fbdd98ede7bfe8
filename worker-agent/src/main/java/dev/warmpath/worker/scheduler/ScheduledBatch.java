package dev.warmpath.worker.scheduler;

import dev.warmpath.worker.kvcache.TokenSequence;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What is computed after one scheduling decision: an entry per sequence, those that ran before first, and one or more
 * device steps.
 *
 * <pre>
 *   step 0   every entry computes its tokens: positions firstPosition .. firstPosition + tokenCount - 1
 *   step j   an entry that draws more than j tokens computes the one that it drew in step j - 1
 * </pre>
 *
 * <p>The scheduler has one such object per batch that may be in flight, and empties it in the next
 * {@link Scheduler#schedule} after it was settled; until then it may be read.
 *
 * <p>Keys and values of all entries have to be written, layer by layer, before any entry attends: a sequence may share
 * blocks that another of the same batch fills.
 */
public final class ScheduledBatch {

    /** The sample index of an entry for which a step draws nothing; no row of the step before to feed from. */
    public static final int NO_SAMPLE = -1;
    /** The row of an entry that has no part in a step. */
    public static final int NO_ROW = -1;
    /** Stands for the token of a row whose logits were unusable. */
    public static final int UNUSABLE = -1;
    /** Stands for the token of a row whose sequence's own rules mask every token. */
    public static final int MASKED = -2;

    private final @Nullable Sequence[] sequences;
    private final int[] firstPositions;
    private final int[] tokenCounts;
    private final int[] drawCounts;
    private final int[] logitEntries;
    /** Where the step before this batch drew an entry's first token, or {@link #NO_SAMPLE} if that token is known. */
    private final int[] firstFeeds;
    /** [maxSteps][entries] */
    private final int[][] rows;
    private final int[] rowCounts;
    private final int[] sampleCounts;
    /** Books of the entries as they were when the batch was complete, for {@link Scheduler#settle}. */
    private final int[] computedTokens;
    private final int[] firstScored;
    private final int[] scoredCounts;
    private final boolean[] taken;
    private final boolean[] failed;
    private final List<Sequence> expired = new ArrayList<>();
    private final List<Sequence> expiredView = Collections.unmodifiableList(expired);
    private int size;
    private int totalTokens;
    private int maxLogitEntries = Integer.MAX_VALUE;
    private int totalLogitEntries;
    /** Who is sure to find room for its entries, however many were added before it. */
    private @Nullable Sequence owed;
    private int stepCount;
    private int settledSteps;
    private long eventCount;
    private long scheduledNanos;
    private int prefillTokens;
    private long decodedContext;

    ScheduledBatch(int maxSequences, int maxSteps) {
        sequences = new Sequence[maxSequences];
        firstPositions = new int[maxSequences];
        tokenCounts = new int[maxSequences];
        drawCounts = new int[maxSequences];
        logitEntries = new int[maxSequences];
        firstFeeds = new int[maxSequences];
        rows = new int[maxSteps][maxSequences];
        rowCounts = new int[maxSteps];
        sampleCounts = new int[maxSteps];
        computedTokens = new int[maxSequences];
        firstScored = new int[maxSequences];
        scoredCounts = new int[maxSequences];
        taken = new boolean[maxSequences];
        failed = new boolean[maxSequences];
    }

    /** Number of entries. */
    public int size() {
        return size;
    }

    /** True if there is nothing to compute; {@link #expired()} may have members all the same. */
    public boolean isEmpty() {
        return size == 0;
    }

    /** Device steps, at least 1; more only if every entry decodes. */
    public int stepCount() {
        return stepCount;
    }

    /** How many of them have been settled. */
    public int settledSteps() {
        return settledSteps;
    }

    /** Tokens that step 0 computes, of all entries. */
    public int totalTokens() {
        return totalTokens;
    }

    /** Tokens that a step computes. @param step 0 to {@link #stepCount()} - 1, here and below */
    public int totalTokens(int step) {
        return step == 0 ? totalTokens : sampleCounts[step];
    }

    /**
     * Of the tokens that a step computes, those that are no decoding: of prompts, and what is computed again after a
     * preemption.
     */
    public int prefillTokens(int step) {
        return step == 0 ? prefillTokens : 0;
    }

    /** Sequences that decode in a step: each computes one token, which was drawn before. */
    public int decodeTokens(int step) {
        return totalTokens(step) - prefillTokens(step);
    }

    /** Tokens that those sequences have in the cache before, together. */
    public long decodeContextTokens(int step) {
        long tokens = decodedContext;
        if (step > 0) {
            tokens = (long) step * sampleCounts[step];
            for (int entry = 0; entry < size; entry++) {
                tokens += drawCounts[entry] > step ? firstPositions[entry] : 0;
            }
        }
        return tokens;
    }

    /** When it was made, on the clock of {@link Scheduler#schedule}. */
    public long scheduledNanos() {
        return scheduledNanos;
    }

    /** @param entry 0 to {@link #size()} - 1, here and below */
    public Sequence sequence(int entry) {
        Sequence sequence = sequences[entry];
        if (sequence == null) {
            throw new IndexOutOfBoundsException("entry " + entry + " of a batch of " + size);
        }
        return sequence;
    }

    /** Position in its sequence of an entry's first token; all before it are in the cache. */
    public int firstPosition(int entry) {
        return firstPositions[entry];
    }

    /** How many tokens of its sequence an entry computes in step 0, at least 1. */
    public int tokenCount(int entry) {
        return tokenCounts[entry];
    }

    /** True if tokens are drawn for the entry: it reaches the end of what is known. */
    public boolean samples(int entry) {
        return drawCounts[entry] > 0;
    }

    /** In how many steps, from the first on, a token is drawn for the entry. */
    public int drawCount(int entry) {
        return drawCounts[entry];
    }

    /**
     * Where among the rows of a step's logits the entry's stands, or {@link #NO_ROW}. An entry that draws nothing has
     * one all the same: whether it is usable tells whether the keys and values are that the step wrote.
     */
    public int row(int entry, int step) {
        return rows[step][entry];
    }

    /** Rows of a step, in order of entries. */
    public int rowCount(int step) {
        return rowCounts[step];
    }

    /** The entry's row if a token is drawn from it in this step, or {@link #NO_SAMPLE}. */
    public int sampleIndex(int entry, int step) {
        return drawCounts[entry] > step ? rows[step][entry] : NO_SAMPLE;
    }

    /** Number of tokens that a step draws. */
    public int sampleCount(int step) {
        return sampleCounts[step];
    }

    /**
     * Where the device step before this one, perhaps the last of the batch before, draws the entry's input token, which
     * nobody here knows yet; or {@link #NO_SAMPLE} if the entry's tokens are known.
     */
    public int feedIndex(int entry, int step) {
        return step == 0 ? firstFeeds[entry] : sampleIndex(entry, step - 1);
    }

    /** Position of the first prompt token that step 0 scores for an entry, if it scores any; 1 and above. */
    public int firstScored(int entry) {
        return firstScored[entry];
    }

    /** How many prompt tokens step 0 scores for an entry. */
    public int scoredCount(int entry) {
        return scoredCounts[entry];
    }

    /**
     * True if the entry's sequence took the token that the step settled last drew for it: one that has ended takes no
     * more. If it is over now, it ended with this token.
     */
    public boolean tookToken(int entry) {
        return taken[entry];
    }

    /** True if the step settled last ended the entry's sequence by failing it: its row was unusable. */
    public boolean failed(int entry) {
        return failed[entry];
    }

    /** Number of the cache's changes when this batch was complete: what was changed later belongs to later batches. */
    public long eventCount() {
        return eventCount;
    }

    /** Sequences whose deadline had passed when the batch was scheduled; they have failed and are no entries. */
    public List<Sequence> expired() {
        return expiredView;
    }

    void clear() {
        Arrays.fill(sequences, 0, size, null);
        size = 0;
        totalTokens = 0;
        totalLogitEntries = 0;
        owed = null;
        stepCount = 1;
        settledSteps = 0;
        prefillTokens = 0;
        decodedContext = 0;
        rowCounts[0] = 0;
        sampleCounts[0] = 0;
        expired.clear();
    }

    /** @param most adjustments of logits that a step has room for: enough for any one sequence */
    void limitLogitEntries(int most) {
        maxLogitEntries = most;
    }

    int maxLogitEntries() {
        return maxLogitEntries;
    }

    /** @param sequence for which room is kept until it is added; null: for nobody any more */
    void keepLogitEntries(@Nullable Sequence sequence) {
        owed = sequence;
    }

    /**
     * False if its logits have too much to be adjusted beside the others'. Whoever comes first, or is owed room, is
     * always taken, and who draws nothing.
     * @param tokenCount of its tokens that are to be computed
     */
    boolean takes(Sequence sequence, int tokenCount) {
        if (tokenCount < sequence.tokens().uncomputedTokens()) {
            return true;
        }
        int kept = owed == null || owed == sequence ? 0 : logitEntries(owed);
        return logitEntries(sequence) <= maxLogitEntries - totalLogitEntries - kept;
    }

    private int logitEntries(Sequence sequence) {
        return Math.min(sequence.logitEntries(), maxLogitEntries);
    }

    /** Adds the tokens that the cache has just made room for. */
    void add(Sequence sequence, int tokenCount) {
        boolean draws = sequence.tokens().uncomputedTokens() == 0;
        logitEntries[size] = draws ? logitEntries(sequence) : 0;
        totalLogitEntries += logitEntries[size];
        owed = owed == sequence ? null : owed;
        sequences[size] = sequence;
        firstPositions[size] = sequence.tokens().computedTokens() - tokenCount;
        tokenCounts[size] = tokenCount;
        drawCounts[size] = draws ? 1 : 0;
        totalTokens += tokenCount;
        size++;
    }

    /** Gives an entry's tokens and draws back. @return false if the sequence has no entry */
    boolean remove(Sequence sequence) {
        for (int entry = 0; entry < size; entry++) {
            if (sequences[entry] == sequence) {
                removeEntry(entry);
                return true;
            }
        }
        return false;
    }

    private void removeEntry(int entry) {
        totalTokens -= tokenCounts[entry];
        totalLogitEntries -= logitEntries[entry];
        size--;
        int behind = size - entry;
        System.arraycopy(sequences, entry + 1, sequences, entry, behind);
        System.arraycopy(firstPositions, entry + 1, firstPositions, entry, behind);
        System.arraycopy(tokenCounts, entry + 1, tokenCounts, entry, behind);
        System.arraycopy(drawCounts, entry + 1, drawCounts, entry, behind);
        System.arraycopy(logitEntries, entry + 1, logitEntries, entry, behind);
        sequences[size] = null;
    }

    void setStepCount(int stepCount) {
        this.stepCount = stepCount;
    }

    void setDrawCount(int entry, int drawCount) {
        drawCounts[entry] = drawCount;
    }

    /** {@link #expired()}, to be added to. */
    List<Sequence> expiring() {
        return expired;
    }

    void begin(long nowNanos) {
        scheduledNanos = nowNanos;
    }

    /** Nothing is added any more: numbers the rows, and notes where each sequence stands now. */
    void complete(long eventCount) {
        this.eventCount = eventCount;
        numberRows();
        for (int entry = 0; entry < size; entry++) {
            Sequence sequence = sequence(entry);
            TokenSequence tokens = sequence.tokens();
            boolean known = firstPositions[entry] + tokenCounts[entry] <= tokens.tokenCount();
            firstFeeds[entry] = known ? NO_SAMPLE : sequence.lastSampleIndex;
            sequence.lastSampleIndex = sampleIndex(entry, stepCount - 1);
            sequence.scheduledTokens = tokens.computedTokens();
            sequence.batchesInFlight++;
            computedTokens[entry] = tokens.computedTokens();
            int scorer = sequence.firstToScore(firstPositions[entry], tokenCounts[entry]);
            firstScored[entry] = scorer + 1;
            scoredCounts[entry] = Math.max(0,
                    Math.min(firstPositions[entry] + tokenCounts[entry], tokens.promptLength() - 1) - scorer);
            boolean decodes = tokenCounts[entry] == 1 && firstPositions[entry] >= tokens.promptLength();
            prefillTokens += decodes ? 0 : tokenCounts[entry];
            decodedContext += decodes ? firstPositions[entry] : 0;
        }
    }

    private void numberRows() {
        for (int step = 0; step < stepCount; step++) {
            int count = 0;
            int drawn = 0;
            for (int entry = 0; entry < size; entry++) {
                boolean draws = drawCounts[entry] > step;
                rows[step][entry] = draws || step == 0 ? count++ : NO_ROW;
                drawn += draws ? 1 : 0;
            }
            rowCounts[step] = count;
            sampleCounts[step] = drawn;
        }
    }

    int computedTokens(int entry) {
        return computedTokens[entry];
    }

    /** What the step settled last brought to an entry. */
    void setOutcome(int entry, boolean tookToken, boolean hasFailed) {
        taken[entry] = tookToken;
        failed[entry] = hasFailed;
    }

    /** @return true if it was the last */
    boolean stepSettled() {
        return ++settledSteps == stepCount;
    }
}
