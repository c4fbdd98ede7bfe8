package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.AttentionSpec;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.LogitAdjustments;
import dev.warmpath.worker.compute.Sampling;
import dev.warmpath.worker.compute.ScoreInputs;
import dev.warmpath.worker.compute.ScoredTokens;
import dev.warmpath.worker.compute.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The tokens of one step on the host's side: a reusable buffer in native memory, laid out as the device wants it and
 * freed with this object. Made once; {@link #clear}, {@link #add} each sequence, submit, and it may be refilled. Not
 * thread-safe.
 * <pre>
 *   tokens, sources, positions   int32 [maxTokens]
 *   of each cache group: slots int32 [maxTokens], blockTables int32 [sequences, blockTableStride], tail of a row:
 *                 leftovers
 *   queryStarts   int32 [maxSequences + 1], contextLengths int32 [maxSequences]
 *   sampledRows, counters, topKs, logprobs int32; seeds int64; temperatures, topPs float32 [maxSequences]
 *   adjustments: see LogitAdjustments
 *   scores: targets, counts int32 [maxSequences + maxTokens], those of the sampled rows first; prompt rows int32
 *           [portions of maxSequences, rounded up to where indexes may be read from]
 * </pre>
 * Blocks come as the block manager counts them. If the device's are smaller, r in one, block b is written into the
 * tables as b·r up to b·r + r − 1; slots are the same either way: b · blockSize + offset.
 * <p>A row of the tables is as wide as the longest context of this batch wants, not of the model: it crosses to the
 * device in every step. Widths are powers of two from {@value #LEAST_STRIDE} on, because a recorded step holds for one.
 */
public final class InputBatch {

    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
    private static final ValueLayout.OfFloat FLOAT = ValueLayout.JAVA_FLOAT;
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;
    /** The source of a token that is known. */
    private static final int NO_SOURCE = -1;
    /** Narrowest row of the block tables, unless no sequence can have as many blocks. */
    private static final int LEAST_STRIDE = 16;
    private static final int FEW_ENTRIES = 64;

    private final int maxTokens;
    private final int maxSequences;
    private final int maxBlocksPerSequence;
    private final int blockSize;
    private final int kernelBlocksPerBlock;
    private final MemorySegment tokens;
    private final MemorySegment sources;
    private final MemorySegment positions;
    private final Group[] groups;
    private final MemorySegment queryStarts;
    private final MemorySegment contextLengths;
    private final MemorySegment sampledRows;
    private final MemorySegment seeds;
    private final MemorySegment counters;
    private final MemorySegment temperatures;
    private final MemorySegment topKs;
    private final MemorySegment topPs;
    private final MemorySegment logprobs;
    private final Adjustments adjustments;
    private final Scoring scoring;
    private int tokenCount;
    private int sequenceCount;
    private int sampledCount;
    private int largestPosition;
    private int largestBlock;
    private int largestToken;
    private int largestSource;
    private int blockTableStride;
    private final int maxEntries;
    private int entryCount;
    private boolean isAdjusted;
    private boolean tellsLikeliest;
    private int promptRowCount;

    /**
     * Where tokens and sequences stand in one group of the cache.
     * @param window positions that a token sees there; {@link AttentionSpec#NO_WINDOW} is all
     */
    private record Group(int window, MemorySegment slots, MemorySegment blockTables) {

        /** First block that the token at a position sees, or one after it. */
        int firstSeen(int position, int blockSize) {
            return window == AttentionSpec.NO_WINDOW ? 0 : Math.max(0, position - window + 1) / blockSize;
        }
    }

    /** How rows' logits are adjusted, as {@link LogitAdjustments} has it; {@code maxEntries} long where it is of entries. */
    private record Adjustments(MemorySegment modes, MemorySegment starts, MemorySegment sources,
                               MemorySegment repetitions, MemorySegment frequencies, MemorySegment presences,
                               MemorySegment cuts, MemorySegment ids, MemorySegment biases, MemorySegment notes) {
    }

    /**
     * Of which rows likelihoods are told, as {@link ScoreInputs} has it.
     * @param drawnCounts   of sampled rows
     * @param promptRows    rows of the step, whose targets and counts are the next two
     * @param targets       of all that are scored, put together when the batch is complete; so are the counts
     */
    private record Scoring(MemorySegment drawnCounts, MemorySegment promptRows, MemorySegment promptTargets,
                           MemorySegment promptCounts, MemorySegment targets, MemorySegment counts) {
    }

    /** Sizes are upper limits, included. One group without a window; blocks are those of the device. */
    public InputBatch(int maxTokens, int maxSequences, int maxBlocksPerSequence, int blockSize) {
        this(maxTokens, maxSequences, maxBlocksPerSequence, blockSize, blockSize, List.of(AttentionSpec.NO_WINDOW));
    }

    /** The same as below, with room for a few adjustments of logits. */
    public InputBatch(int maxTokens, int maxSequences, int maxBlocksPerSequence, int blockSize, int kernelBlockSize,
                      List<Integer> windows) {
        this(maxTokens, maxSequences, maxBlocksPerSequence, blockSize, kernelBlockSize, windows, FEW_ENTRIES);
    }

    /**
     * Sizes are upper limits, included.
     * @param kernelBlockSize tokens in a block of the device
     * @param windows         of each cache group, see {@link ModelConfig#groupWindows}
     * @param maxEntries      adjustments of logits, of all rows together
     */
    public InputBatch(int maxTokens, int maxSequences, int maxBlocksPerSequence, int blockSize, int kernelBlockSize,
                      List<Integer> windows, int maxEntries) {
        if (maxTokens < 1 || maxSequences < 1 || maxBlocksPerSequence < 1 || blockSize < 1) {
            throw new IllegalArgumentException("no batch takes %d tokens of %d sequences in %d blocks of %d"
                    .formatted(maxTokens, maxSequences, maxBlocksPerSequence, blockSize));
        }
        if (kernelBlockSize < 1 || blockSize % kernelBlockSize != 0) {
            throw new IllegalArgumentException(
                    "kernel block size %d does not divide block size %d".formatted(kernelBlockSize, blockSize));
        }
        this.maxTokens = maxTokens;
        this.maxSequences = maxSequences;
        this.maxBlocksPerSequence = maxBlocksPerSequence;
        this.blockSize = blockSize;
        this.kernelBlocksPerBlock = blockSize / kernelBlockSize;
        this.maxEntries = maxEntries;
        var arena = Arena.ofAuto();
        tokens = arena.allocate(INT, maxTokens);
        sources = arena.allocate(INT, maxTokens);
        positions = arena.allocate(INT, maxTokens);
        groups = new Group[windows.size()];
        Arrays.setAll(groups, group -> new Group(windows.get(group), arena.allocate(INT, maxTokens),
                arena.allocate(INT, (long) maxSequences * maxBlockTableStride())));
        queryStarts = arena.allocate(INT, maxSequences + 1L);
        contextLengths = arena.allocate(INT, maxSequences);
        sampledRows = arena.allocate(INT, maxSequences);
        seeds = arena.allocate(LONG, maxSequences);
        counters = arena.allocate(INT, maxSequences);
        temperatures = arena.allocate(FLOAT, maxSequences);
        topKs = arena.allocate(INT, maxSequences);
        topPs = arena.allocate(FLOAT, maxSequences);
        logprobs = arena.allocate(INT, maxSequences);
        adjustments = new Adjustments(arena.allocate(INT, maxSequences), arena.allocate(INT, maxSequences + 1L),
                arena.allocate(INT, maxSequences), arena.allocate(FLOAT, maxSequences),
                arena.allocate(FLOAT, maxSequences), arena.allocate(FLOAT, maxSequences),
                arena.allocate(FLOAT, maxSequences), arena.allocate(INT, maxEntries), arena.allocate(FLOAT, maxEntries),
                arena.allocate(INT, maxEntries));
        long scored = (long) maxSequences + maxTokens;
        scoring = new Scoring(arena.allocate(INT, maxSequences),
                arena.allocate(INT, promptRowPlaces(maxTokens, maxSequences)), arena.allocate(INT, maxTokens),
                arena.allocate(INT, maxTokens), arena.allocate(INT, scored),
                arena.allocate(INT, scored));
        clear();
    }

    public void clear() {
        tokenCount = 0;
        sequenceCount = 0;
        sampledCount = 0;
        largestPosition = -1;
        largestBlock = -1;
        largestToken = -1;
        largestSource = NO_SOURCE;
        blockTableStride = Math.min(LEAST_STRIDE, maxBlockTableStride());
        entryCount = 0;
        isAdjusted = false;
        tellsLikeliest = false;
        promptRowCount = 0;
    }

    /**
     * Adds a sequence's next tokens, in a cache of one group: those at positions {@code from} up to
     * {@code from + count}, exclusive.
     * @param blockTable the one group's, otherwise as in {@link #add(int[], int, int, int[][], int, Sampling)}
     */
    public void add(int[] sequenceTokens, int from, int count, int[] blockTable, int blockCount,
                    @Nullable Sampling sampling) {
        add(sequenceTokens, from, count, new int[][] {blockTable}, blockCount, sampling);
    }

    /**
     * Adds a sequence's next tokens: those at positions {@code from} up to {@code from + count}, exclusive.
     * @param sequenceTokens the sequence's tokens; entry p stands at position p
     * @param blockTables    the sequence's block ids in each group; block b holds positions b · blockSize and on. Each
     *                       is 1 and above, but where no added token sees the block: there it may be the null block, 0
     * @param blockCount     leading entries of each table that count; they must cover the added positions
     * @param sampling       how to draw from the last of these tokens; null draws nothing
     * @throws IllegalStateException    if the batch is full
     * @throws IllegalArgumentException if the block tables are not one for each group or do not cover the tokens, or a
     *                                  block or token id is too small; the batch is then as it was
     */
    public void add(int[] sequenceTokens, int from, int count, int[][] blockTables, int blockCount,
                    @Nullable Sampling sampling) {
        requireRoom(count);
        requireCovered(from, count, blockCount);
        requireRealBlocks(blockTables, blockCount, from);
        requireTokens(sequenceTokens, from, count);
        addBlocks(blockTables, Math.ceilDiv(from + count, blockSize));
        for (int position = from; position < from + count; position++) {
            addToken(sequenceTokens[position], NO_SOURCE, position, blockTables);
        }
        addSequence(from, count, sampling);
    }

    /** As below, in a cache of one group. */
    public void addFed(int sourceRow, int position, int[] blockTable, int blockCount, @Nullable Sampling sampling) {
        addFed(sourceRow, position, new int[][] {blockTable}, blockCount, sampling);
    }

    /**
     * Adds a sequence's next token where it is not known here yet: the step submitted immediately before this one draws
     * it.
     * @param sourceRow   index of the token among those drawn by that step, from 0
     * @param position    the token's in its sequence
     * @param blockTables as in {@link #add}, {@code blockCount} and {@code sampling} too
     * @throws IllegalStateException    if the batch is full
     * @throws IllegalArgumentException if the block tables are not one for each group or do not cover the token, or a
     *                                  block id or the row is too small; the batch is then as it was
     */
    public void addFed(int sourceRow, int position, int[][] blockTables, int blockCount, @Nullable Sampling sampling) {
        requireRoom(1);
        requireCovered(position, 1, blockCount);
        requireRealBlocks(blockTables, blockCount, position);
        if (sourceRow < 0) {
            throw new IllegalArgumentException("no step draws a row " + sourceRow);
        }
        addBlocks(blockTables, Math.ceilDiv(position + 1, blockSize));
        addToken(0, sourceRow, position, blockTables);
        addSequence(position, 1, sampling);
    }

    /** Ends the sequence whose {@code count} tokens were added last. */
    private void addSequence(int from, int count, @Nullable Sampling sampling) {
        queryStarts.setAtIndex(INT, sequenceCount, tokenCount - count);
        contextLengths.setAtIndex(INT, sequenceCount, from + count);
        sequenceCount++;
        queryStarts.setAtIndex(INT, sequenceCount, tokenCount);
        largestPosition = Math.max(largestPosition, from + count - 1);
        if (sampling != null) {
            addSampling(sampling, from + count);
        }
    }

    private void requireRoom(int count) {
        if (sequenceCount == maxSequences || tokenCount + count > maxTokens) {
            throw new IllegalStateException(
                    "batch has %d sequences and %d tokens, takes %d and %d: no room for %d tokens"
                            .formatted(sequenceCount, tokenCount, maxSequences, maxTokens, count));
        }
    }

    private void requireCovered(int from, int count, int blockCount) {
        if (from < 0 || count < 1 || blockCount > maxBlocksPerSequence
                || (long) from + count > (long) blockCount * blockSize) {
            throw new IllegalArgumentException(
                    "%d tokens from position %d do not lie in %d blocks of %d (at most %d blocks)"
                            .formatted(count, from, blockCount, blockSize, maxBlocksPerSequence));
        }
    }

    private void requireRealBlocks(int[][] blockTables, int blockCount, int firstPosition) {
        if (blockTables.length != groups.length) {
            throw new IllegalArgumentException(
                    "block tables of %d groups, the batch has %d".formatted(blockTables.length, groups.length));
        }
        for (int group = 0; group < groups.length; group++) {
            int firstSeen = groups[group].firstSeen(firstPosition, blockSize);
            for (int block = 0; block < blockCount; block++) {
                int id = blockTables[group][block];
                if (id < (block < firstSeen ? 0 : 1)) {
                    throw new IllegalArgumentException("block %d is no place for keys and values".formatted(id));
                }
            }
        }
    }

    private static void requireTokens(int[] sequenceTokens, int from, int count) {
        for (int position = from; position < from + count; position++) {
            if (sequenceTokens[position] < 0) {
                throw new IllegalArgumentException(
                        "token %d at position %d".formatted(sequenceTokens[position], position));
            }
        }
    }

    private void addBlocks(int[][] blockTables, int blockCount) {
        widenBlockTables(blockCount * kernelBlocksPerBlock);
        for (int group = 0; group < groups.length; group++) {
            addBlocks(groups[group].blockTables, blockTables[group], blockCount);
        }
    }

    private void addBlocks(MemorySegment target, int[] blockTable, int blockCount) {
        long entry = (long) sequenceCount * blockTableStride;
        for (int block = 0; block < blockCount; block++) {
            int first = blockTable[block] * kernelBlocksPerBlock;
            for (int part = 0; part < kernelBlocksPerBlock; part++) {
                target.setAtIndex(INT, entry++, first + part);
            }
            largestBlock = Math.max(largestBlock, blockTable[block]);
        }
    }

    /** Moves the rows that are there apart, the last one first: each goes to where only later ones were. */
    private void widenBlockTables(int columns) {
        if (columns <= blockTableStride) {
            return;
        }
        int wider = Math.min(Integer.highestOneBit(columns - 1) << 1, maxBlockTableStride());
        for (Group group : groups) {
            for (int row = sequenceCount - 1; row > 0; row--) {
                MemorySegment.copy(group.blockTables, (long) row * blockTableStride * Integer.BYTES, group.blockTables,
                        (long) row * wider * Integer.BYTES, (long) blockTableStride * Integer.BYTES);
            }
        }
        blockTableStride = wider;
    }

    private void addToken(int token, int source, int position, int[][] blockTables) {
        tokens.setAtIndex(INT, tokenCount, token);
        sources.setAtIndex(INT, tokenCount, source);
        positions.setAtIndex(INT, tokenCount, position);
        for (int group = 0; group < groups.length; group++) {
            groups[group].slots.setAtIndex(INT, tokenCount,
                    blockTables[group][position / blockSize] * blockSize + position % blockSize);
        }
        largestToken = Math.max(largestToken, token);
        largestSource = Math.max(largestSource, source);
        tokenCount++;
    }

    private void addSampling(Sampling sampling, int drawnIndex) {
        sampledRows.setAtIndex(INT, sampledCount, tokenCount - 1);
        seeds.setAtIndex(LONG, sampledCount, sampling.seed());
        counters.setAtIndex(INT, sampledCount, drawnIndex);
        temperatures.setAtIndex(FLOAT, sampledCount, sampling.temperature());
        topKs.setAtIndex(INT, sampledCount, sampling.topK());
        topPs.setAtIndex(FLOAT, sampledCount, sampling.topP());
        logprobs.setAtIndex(INT, sampledCount, sampling.logprob() ? 1 : 0);
        adjustments.modes.setAtIndex(INT, sampledCount, LogitAdjustments.PLAIN);
        adjustments.starts.setAtIndex(INT, sampledCount, entryCount);
        scoring.drawnCounts.setAtIndex(INT, sampledCount, 0);
        sampledCount++;
        adjustments.starts.setAtIndex(INT, sampledCount, entryCount);
    }

    /**
     * Adjusts the logits of the sequence added last, which draws; what {@link #addEntries} and {@link #ban} add from
     * now on is its own.
     * @param sourceRow of its last token if the step before draws that and no entry counts it; else negative
     */
    public void adjust(RowAdjustment row, int sourceRow) {
        int index = sampledCount - 1;
        adjustments.modes.setAtIndex(INT, index,
                row.allowedOnly() ? LogitAdjustments.ALLOWED_ONLY : LogitAdjustments.ADJUSTED);
        adjustments.sources.setAtIndex(INT, index, sourceRow);
        adjustments.repetitions.setAtIndex(FLOAT, index, row.repetition());
        adjustments.frequencies.setAtIndex(FLOAT, index, row.frequency());
        adjustments.presences.setAtIndex(FLOAT, index, row.presence());
        adjustments.cuts.setAtIndex(FLOAT, index, row.cut());
        largestSource = Math.max(largestSource, sourceRow);
        isAdjusted = true;
    }

    /**
     * @param ids    of the vocabulary, none of them twice; likewise the leading {@code count} of the others
     * @param notes  0 and above
     * @throws IllegalStateException if there is no room
     */
    public void addEntries(int[] ids, float[] biases, int[] notes, int count) {
        requireEntries(count);
        MemorySegment.copy(ids, 0, adjustments.ids, INT, (long) entryCount * Integer.BYTES, count);
        MemorySegment.copy(biases, 0, adjustments.biases, FLOAT, (long) entryCount * Float.BYTES, count);
        MemorySegment.copy(notes, 0, adjustments.notes, INT, (long) entryCount * Integer.BYTES, count);
        entryCount += count;
        adjustments.starts.setAtIndex(INT, sampledCount, entryCount);
    }

    /** @param note below 0 */
    public void ban(int id, int note) {
        addEntry(id, note);
    }

    /** Ends the entries of a row that has a source. */
    public void addFreeEntry() {
        addEntry(LogitAdjustments.NO_ID, 0);
    }

    private void addEntry(int id, int note) {
        requireEntries(1);
        adjustments.ids.setAtIndex(INT, entryCount, id);
        adjustments.biases.setAtIndex(FLOAT, entryCount, 0);
        adjustments.notes.setAtIndex(INT, entryCount, note);
        entryCount++;
        adjustments.starts.setAtIndex(INT, sampledCount, entryCount);
    }

    private void requireEntries(int count) {
        if (!isAdjusted || entryCount + count > maxEntries) {
            throw new IllegalStateException("batch has %d adjustments of logits, takes %d: no room for %d"
                    .formatted(entryCount, maxEntries, count));
        }
    }

    /**
     * Tells the likeliest tokens beside the one that is drawn for the sequence added last.
     * @param count 0 to {@link ScoredTokens#MOST_LIKELIEST} and at most the vocabulary's size
     */
    public void tellLikeliest(int count) {
        requireLikeliest(count);
        scoring.drawnCounts.setAtIndex(INT, sampledCount - 1, count);
        tellsLikeliest |= count > 0;
    }

    /**
     * Scores tokens by what the sequence added last computes: each by the row of the token before it. Their rows of
     * {@link ScoredTokens} follow those of all sampled ones, in the order of these calls.
     * @param sequenceTokens the sequence's tokens; entry p stands at position p
     * @param from           position of the first that is scored, whose predecessor was added; 1 and above
     * @param count          how many, the last one's predecessor added, too
     * @param likeliest      tokens to be told beside each, as in {@link #tellLikeliest}
     * @throws IllegalArgumentException if the rows of these tokens were not added last
     */
    public void scorePrompt(int[] sequenceTokens, int from, int count, int likeliest) {
        requireLikeliest(likeliest);
        int end = contextLengths.getAtIndex(INT, sequenceCount - 1L);
        int added = tokenCount - queryStarts.getAtIndex(INT, sequenceCount - 1L);
        if (count < 0 || from - 1 < end - added || from - 1 + count > end) {
            throw new IllegalArgumentException("%d tokens from position %d on are not computed from positions %d to %d"
                    .formatted(count, from, end - added, end - 1));
        }
        int row = tokenCount - end + from - 1;
        for (int i = 0; i < count; i++) {
            scoring.promptRows.setAtIndex(INT, promptRowPlace(promptRowCount, maxSequences), row + i);
            scoring.promptTargets.setAtIndex(INT, promptRowCount, sequenceTokens[from + i]);
            scoring.promptCounts.setAtIndex(INT, promptRowCount, likeliest);
            largestToken = Math.max(largestToken, sequenceTokens[from + i]);
            promptRowCount++;
        }
    }

    /**
     * Where a row stands by which a prompt is scored: they go through the head in portions of as many as are sampled,
     * and each portion begins where a device reads indexes from.
     */
    static int promptRowPlace(int index, int maxSequences) {
        int portion = Math.ceilDiv(maxSequences, ComputeBackend.INDEX_STEP) * ComputeBackend.INDEX_STEP;
        return Math.addExact(Math.multiplyExact(index / maxSequences, portion), index % maxSequences);
    }

    /** Places of so many rows, at least 1. */
    static int promptRowPlaces(int count, int maxSequences) {
        return promptRowPlace(count - 1, maxSequences) + 1;
    }

    private static void requireLikeliest(int count) {
        if (count < 0 || count > ScoredTokens.MOST_LIKELIEST) {
            throw new IllegalArgumentException(
                    "the %d likeliest tokens, at most %d are told".formatted(count, ScoredTokens.MOST_LIKELIEST));
        }
    }

    public int sequenceCount() {
        return sequenceCount;
    }

    public int tokenCount() {
        return tokenCount;
    }

    /** Sequences that draw a token, in the order in which they were added. */
    public int sampledCount() {
        return sampledCount;
    }

    public int blockSize() {
        return blockSize;
    }

    public int maxBlocksPerSequence() {
        return maxBlocksPerSequence;
    }

    /** Entries of a sequence's row in this batch's block tables, in blocks of the device. */
    int blockTableStride() {
        return blockTableStride;
    }

    /** Entries of the row of a sequence that has as many blocks as one may. */
    private int maxBlockTableStride() {
        return maxBlocksPerSequence * kernelBlocksPerBlock;
    }

    int groupCount() {
        return groups.length;
    }

    int kernelBlockSize() {
        return blockSize / kernelBlocksPerBlock;
    }

    // ---- for the runner: largest values of the batch (-1 when empty), and the filled parts of the buffers

    int largestPosition() {
        return largestPosition;
    }

    int largestBlock() {
        return largestBlock;
    }

    int largestToken() {
        return largestToken;
    }

    /** Last row that is fed from the step before. */
    int largestSource() {
        return largestSource;
    }

    /** True if some token is still to be drawn by the step before. */
    boolean isFed() {
        return largestSource != NO_SOURCE;
    }

    MemorySegment tokens() {
        return filled(tokens, INT, tokenCount);
    }

    MemorySegment sources() {
        return filled(sources, INT, tokenCount);
    }

    MemorySegment positions() {
        return filled(positions, INT, tokenCount);
    }

    MemorySegment slots(int group) {
        return filled(groups[group].slots, INT, tokenCount);
    }

    MemorySegment blockTables(int group) {
        return filled(groups[group].blockTables, INT, (long) sequenceCount * blockTableStride);
    }

    MemorySegment queryStarts() {
        return filled(queryStarts, INT, sequenceCount + 1L);
    }

    MemorySegment contextLengths() {
        return filled(contextLengths, INT, sequenceCount);
    }

    MemorySegment sampledRows() {
        return filled(sampledRows, INT, sampledCount);
    }

    MemorySegment seeds() {
        return filled(seeds, LONG, sampledCount);
    }

    MemorySegment counters() {
        return filled(counters, INT, sampledCount);
    }

    MemorySegment temperatures() {
        return filled(temperatures, FLOAT, sampledCount);
    }

    MemorySegment topKs() {
        return filled(topKs, INT, sampledCount);
    }

    MemorySegment topPs() {
        return filled(topPs, FLOAT, sampledCount);
    }

    MemorySegment logprobs() {
        return filled(logprobs, INT, sampledCount);
    }

    int maxEntries() {
        return maxEntries;
    }

    /** True if some row's logits are adjusted. */
    boolean isAdjusted() {
        return isAdjusted;
    }

    /** Enqueues the writes of what adjusts this batch's logits. */
    void writeAdjustments(ComputeBackend backend, LogitAdjustments target) {
        backend.write(target.modes(), filled(adjustments.modes, INT, sampledCount));
        backend.write(target.starts(), filled(adjustments.starts, INT, sampledCount + 1L));
        backend.write(target.sources(), filled(adjustments.sources, INT, sampledCount));
        backend.write(target.repetitions(), filled(adjustments.repetitions, FLOAT, sampledCount));
        backend.write(target.frequencies(), filled(adjustments.frequencies, FLOAT, sampledCount));
        backend.write(target.presences(), filled(adjustments.presences, FLOAT, sampledCount));
        backend.write(target.cuts(), filled(adjustments.cuts, FLOAT, sampledCount));
        if (entryCount > 0) {
            backend.write(target.ids(), filled(adjustments.ids, INT, entryCount));
            backend.write(target.biases(), filled(adjustments.biases, FLOAT, entryCount));
            backend.write(target.notes(), filled(adjustments.notes, INT, entryCount));
        }
    }

    /** True if something is told of some sampled row's likeliest tokens. */
    boolean tellsLikeliest() {
        return tellsLikeliest;
    }

    /** Rows of the prompt that are scored. */
    int promptRowCount() {
        return promptRowCount;
    }

    boolean isScored() {
        return tellsLikeliest || promptRowCount > 0;
    }

    /** Rows of {@link ScoredTokens} that the step fills, or leaves between; 0 if nobody asks. */
    int scoredCount() {
        return isScored() ? sampledCount + promptRowCount : 0;
    }

    /** Enqueues the writes of what is to be told. */
    void writeScoring(ComputeBackend backend, ScoreInputs target, Tensor promptRows) {
        long drawn = (long) sampledCount * Integer.BYTES;
        long prompt = (long) promptRowCount * Integer.BYTES;
        for (int row = 0; row < sampledCount; row++) {
            scoring.targets.setAtIndex(INT, row, ScoreInputs.NO_TARGET);
        }
        MemorySegment.copy(scoring.promptTargets, 0, scoring.targets, drawn, prompt);
        MemorySegment.copy(scoring.drawnCounts, 0, scoring.counts, 0, drawn);
        MemorySegment.copy(scoring.promptCounts, 0, scoring.counts, drawn, prompt);
        backend.write(target.targets(), filled(scoring.targets, INT, scoredCount()));
        backend.write(target.counts(), filled(scoring.counts, INT, scoredCount()));
        if (promptRowCount > 0) {
            backend.write(promptRows, filled(scoring.promptRows, INT, promptRowPlaces(promptRowCount, maxSequences)));
        }
    }

    private static MemorySegment filled(MemorySegment buffer, ValueLayout layout, long count) {
        return buffer.asSlice(0, count * layout.byteSize());
    }
}
