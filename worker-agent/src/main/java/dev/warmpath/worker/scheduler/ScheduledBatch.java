package dev.warmpath.worker.scheduler;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What one step computes: an entry per sequence, those that ran before first. The scheduler has one such object and
 * writes it anew in each {@link Scheduler#schedule}; until then it may be read, after settling too.
 *
 * <p>Keys and values of all entries have to be written, layer by layer, before any entry attends: a sequence may share
 * blocks that another of the same batch fills.
 */
public final class ScheduledBatch {

    /** The sample index of an entry whose prompt is not complete: nothing is drawn for it. */
    public static final int NO_SAMPLE = -1;

    private final @Nullable Sequence[] sequences;
    private final int[] firstPositions;
    private final int[] tokenCounts;
    private final int[] sampleIndexes;
    private int size;
    private int totalTokens;
    private int sampleCount;
    private final List<Sequence> expired = new ArrayList<>();

    ScheduledBatch(int maxSequences) {
        sequences = new Sequence[maxSequences];
        firstPositions = new int[maxSequences];
        tokenCounts = new int[maxSequences];
        sampleIndexes = new int[maxSequences];
    }

    /** Number of entries. */
    public int size() {
        return size;
    }

    /** True if there is nothing to compute; {@link #expired()} may have members all the same. */
    public boolean isEmpty() {
        return size == 0;
    }

    /** Tokens of all entries. */
    public int totalTokens() {
        return totalTokens;
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

    /** How many tokens of its sequence an entry computes, at least 1. */
    public int tokenCount(int entry) {
        return tokenCounts[entry];
    }

    /** True if a token is drawn from the logits of the entry's last position: it reaches the end of what is known. */
    public boolean samples(int entry) {
        return sampleIndexes[entry] != NO_SAMPLE;
    }

    /** Where in the array of drawn tokens the entry's stands, or {@link #NO_SAMPLE}. */
    public int sampleIndex(int entry) {
        return sampleIndexes[entry];
    }

    /** Number of tokens to draw: one for each entry that samples, in order of entries. */
    public int sampleCount() {
        return sampleCount;
    }

    /** Sequences whose deadline had passed when the step was scheduled; they have failed and are no entries. */
    public List<Sequence> expired() {
        return Collections.unmodifiableList(expired);
    }

    void clear() {
        Arrays.fill(sequences, 0, size, null);
        size = 0;
        totalTokens = 0;
        sampleCount = 0;
        expired.clear();
    }

    /** Adds the tokens that the cache has just made room for. */
    void add(Sequence sequence, int tokenCount) {
        sequences[size] = sequence;
        firstPositions[size] = sequence.tokens().computedTokens() - tokenCount;
        tokenCounts[size] = tokenCount;
        sampleIndexes[size] = sequence.tokens().uncomputedTokens() == 0 ? sampleCount++ : NO_SAMPLE;
        totalTokens += tokenCount;
        size++;
    }

    void addExpired(Sequence sequence) {
        expired.add(sequence);
    }
}
