package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.Sampling;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.jspecify.annotations.Nullable;

/**
 * The tokens of one step on the host's side: a reusable buffer in native memory, laid out as the device wants it and
 * freed with this object. Made once; {@link #clear}, {@link #add} each sequence, submit, and it may be refilled. Not
 * thread-safe.
 * <pre>
 *   tokens, positions, slots   int32 [maxTokens]
 *   blockTables                int32 [maxSequences, maxBlocksPerSequence], tail of a row: leftovers
 *   queryStarts                int32 [maxSequences + 1], contextLengths int32 [maxSequences]
 *   sampledRows, counters, topKs, logprobs int32; seeds int64; temperatures, topPs float32 [maxSequences]
 * </pre>
 */
public final class InputBatch {

    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
    private static final ValueLayout.OfFloat FLOAT = ValueLayout.JAVA_FLOAT;
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;

    private final int maxTokens;
    private final int maxSequences;
    private final int maxBlocksPerSequence;
    private final int blockSize;
    private final MemorySegment tokens;
    private final MemorySegment positions;
    private final MemorySegment slots;
    private final MemorySegment blockTables;
    private final MemorySegment queryStarts;
    private final MemorySegment contextLengths;
    private final MemorySegment sampledRows;
    private final MemorySegment seeds;
    private final MemorySegment counters;
    private final MemorySegment temperatures;
    private final MemorySegment topKs;
    private final MemorySegment topPs;
    private final MemorySegment logprobs;
    private int tokenCount;
    private int sequenceCount;
    private int sampledCount;
    private int largestPosition;
    private int largestBlock;
    private int largestToken;

    /** Sizes are upper limits, included. */
    public InputBatch(int maxTokens, int maxSequences, int maxBlocksPerSequence, int blockSize) {
        if (maxTokens < 1 || maxSequences < 1 || maxBlocksPerSequence < 1 || blockSize < 1) {
            throw new IllegalArgumentException("no batch takes %d tokens of %d sequences in %d blocks of %d"
                    .formatted(maxTokens, maxSequences, maxBlocksPerSequence, blockSize));
        }
        this.maxTokens = maxTokens;
        this.maxSequences = maxSequences;
        this.maxBlocksPerSequence = maxBlocksPerSequence;
        this.blockSize = blockSize;
        var arena = Arena.ofAuto();
        tokens = arena.allocate(INT, maxTokens);
        positions = arena.allocate(INT, maxTokens);
        slots = arena.allocate(INT, maxTokens);
        blockTables = arena.allocate(INT, (long) maxSequences * maxBlocksPerSequence);
        queryStarts = arena.allocate(INT, maxSequences + 1L);
        contextLengths = arena.allocate(INT, maxSequences);
        sampledRows = arena.allocate(INT, maxSequences);
        seeds = arena.allocate(LONG, maxSequences);
        counters = arena.allocate(INT, maxSequences);
        temperatures = arena.allocate(FLOAT, maxSequences);
        topKs = arena.allocate(INT, maxSequences);
        topPs = arena.allocate(FLOAT, maxSequences);
        logprobs = arena.allocate(INT, maxSequences);
        clear();
    }

    public void clear() {
        tokenCount = 0;
        sequenceCount = 0;
        sampledCount = 0;
        largestPosition = -1;
        largestBlock = -1;
        largestToken = -1;
    }

    /**
     * Adds a sequence's next tokens: those at positions {@code from} up to {@code from + count}, exclusive.
     * @param sequenceTokens the sequence's tokens; entry p stands at position p
     * @param blockTable     the sequence's block ids, each 1 and above; block b holds positions b · blockSize and on
     * @param blockCount     leading entries of {@code blockTable} that count; they must cover the added positions
     * @param sampling       how to draw from the last of these tokens; null draws nothing
     * @throws IllegalStateException    if the batch is full
     * @throws IllegalArgumentException if the block table does not cover the tokens, or a block or token id is too
     *                                  small; the batch is then as it was
     */
    public void add(int[] sequenceTokens, int from, int count, int[] blockTable, int blockCount,
                    @Nullable Sampling sampling) {
        requireRoom(count);
        requireCovered(from, count, blockCount);
        requireRealBlocks(blockTable, blockCount);
        requireTokens(sequenceTokens, from, count);
        addBlocks(blockTable, blockCount);
        for (int position = from; position < from + count; position++) {
            addToken(sequenceTokens[position], position, blockTable[position / blockSize]);
        }
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

    private static void requireRealBlocks(int[] blockTable, int blockCount) {
        for (int block = 0; block < blockCount; block++) {
            if (blockTable[block] < 1) {
                throw new IllegalArgumentException(
                        "block %d is no place for keys and values".formatted(blockTable[block]));
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

    private void addBlocks(int[] blockTable, int blockCount) {
        long row = (long) sequenceCount * maxBlocksPerSequence;
        for (int block = 0; block < blockCount; block++) {
            blockTables.setAtIndex(INT, row + block, blockTable[block]);
            largestBlock = Math.max(largestBlock, blockTable[block]);
        }
    }

    private void addToken(int token, int position, int blockId) {
        tokens.setAtIndex(INT, tokenCount, token);
        positions.setAtIndex(INT, tokenCount, position);
        slots.setAtIndex(INT, tokenCount, blockId * blockSize + position % blockSize);
        largestToken = Math.max(largestToken, token);
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
        sampledCount++;
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

    MemorySegment tokens() {
        return filled(tokens, INT, tokenCount);
    }

    MemorySegment positions() {
        return filled(positions, INT, tokenCount);
    }

    MemorySegment slots() {
        return filled(slots, INT, tokenCount);
    }

    MemorySegment blockTables() {
        return filled(blockTables, INT, (long) sequenceCount * maxBlocksPerSequence);
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

    private static MemorySegment filled(MemorySegment buffer, ValueLayout layout, long count) {
        return buffer.asSlice(0, count * layout.byteSize());
    }
}
