package dev.warmpath.worker.compute.cuda;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Who computes what in the attention of one step: the same for every layer, so it is arranged once on the host and
 * read by the kernels from a buffer, which lets a captured graph serve other lengths.
 *
 * <p><b>Decode.</b> A sequence with one token is one work item for each KV head, or several if its blocks are cut into
 * pieces. Cutting fills the card where sequences are few or uneven; it costs a pass over the partial results. A card
 * holds {@value #BLOCKS_PER_MULTIPROCESSOR} thread blocks a multiprocessor at a time, one such round being a wave. With
 * pieces of c blocks at most the cost is {@code waves · (c + 2)} block reads, and {@value #REDUCE_COST} more if
 * anything is cut. Source of the idea, a plan made on the host once a step: Ye et al., FlashInfer, arXiv 2501.01005.
 *
 * <p><b>A short suffix</b> behind a long context, what is left of a prompt whose beginning was cached, decodes
 * likewise where its tiles would leave most of the card idle: in runs of as many tokens as fit with their query heads
 * into the 16 rows that one token of 16 heads has. 30 tokens behind 8,000 are one tile for each of 32 query heads, of
 * 136 turns each; as 8 runs for each of 8 KV heads they are cut until the card is full.
 *
 * <p><b>Prefill.</b> Any other sequence with more tokens is cut into tiles of up to {@value KernelSizes#PREFILL_ROWS} of
 * them.
 *
 * <p>Items and tiles come longest first, so that the short ones fill what the long ones leave. Layouts, int32:
 * <pre>
 *   decode  {work count, reduce count, index of the first reduce item, 0}
 *           work    {sequence, row, first block, token count, partial or -1, rows, positions behind, partials a row}
 *           reduce  {row, first partial, partial count, 0}
 *   tiles   {sequence, first row, first position, row count}
 * </pre>
 * Buffers grow to the largest step and stay; arranging allocates nothing otherwise. Not thread-safe.
 */
final class AttentionPlan {

    /** Sequences of the largest step; its plan has to fit into a staging slot. */
    static final int MAX_SEQUENCES = 8_192;
    private static final int HEADER_INTS = 4;
    private static final int WORK_INTS = 8;
    private static final int REDUCE_INTS = 4;
    private static final int TILE_INTS = 4;
    private static final int NO_PARTIAL = -1;
    private static final int BLOCKS_PER_MULTIPROCESSOR = 2;
    /** Waves of work items that cutting may add; bounds the plan, the graph's grid and the partial results. */
    private static final int EXTRA_WAVES = 4;
    private static final int LEAST_PIECE = 4;
    /** A suffix of more tokens reads the context more often than its tiles would. */
    static final int MOST_PACKED_TOKENS = 64;
    /** Positions before a suffix for each token of it: with fewer there is little to split. */
    private static final int LEAST_BEHIND = 8;
    /** What a thread block does before and after its blocks, and what the pass over partial results takes. */
    private static final int BLOCK_COST = 2;
    private static final int REDUCE_COST = 4;
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;

    private final int waveBlocks;
    private final LargestFirst order = new LargestFirst();
    private MemorySegment decode = segment(HEADER_INTS);
    private MemorySegment tiles = segment(TILE_INTS);
    /** [runs]: rows of a sequence that follow each other: the first, how many, the last one's context, its blocks. */
    private int[] runSequences = new int[16];
    private int[] runRows = new int[16];
    private int[] runLengths = new int[16];
    private int[] runContexts = new int[16];
    private int[] blockCounts = new int[16];
    /** [tiles], in the order of their rows: the sequence of each, and its first row. */
    private int[] tileSequences = new int[16];
    private int[] tileRows = new int[16];
    private int decodeCount;
    private int runCount;
    private int workCount;
    private int reduceCount;
    private int partialCount;
    private int tileCount;
    /** Whether short suffixes decode in this step. */
    private boolean packs;

    AttentionPlan(int multiprocessors) {
        this.waveBlocks = BLOCKS_PER_MULTIPROCESSOR * multiprocessors;
    }

    /** Work items that cutting may add to one for each run. */
    private int extraWork(int kvHeads) {
        return Math.ceilDiv(EXTRA_WAVES * waveBlocks, kvHeads);
    }

    /** The most work items of a step of so many runs. */
    int workCapacity(int runs, int kvHeads) {
        return runs + extraWork(kvHeads);
    }

    /**
     * The most partial results of any step, each of as many rows as a run can have: s runs cut into p pieces take
     * p − s of the extra items, and p is 2s at least.
     */
    int partialCapacity(int kvHeads) {
        return 2 * extraWork(kvHeads);
    }

    /** The most bytes of the plan of a step of {@code rows} rows that decode. */
    long decodeBytes(int rows, int kvHeads) {
        return (long) Integer.BYTES * (HEADER_INTS + WORK_INTS * workCapacity(rows, kvHeads) + REDUCE_INTS * rows);
    }

    /**
     * Arranges a step.
     * @param queryStarts    [sequenceCount + 1], as in a {@code PagedBatch}
     * @param contextLengths [sequenceCount]
     * @param group          query heads of a KV head, 1 to {@link KernelSizes#DECODE_ROWS}
     * @throws IllegalArgumentException if a sequence has more tokens than its context has positions, or there are too
     *                                  many
     */
    void arrange(int[] queryStarts, int[] contextLengths, int sequenceCount, int kvHeads, int group) {
        requireSequences(sequenceCount);
        int packedTokens = 0;
        int wholeTiles = 0;
        decodeCount = 0;
        for (int sequence = 0; sequence < sequenceCount; sequence++) {
            int tokens = queryStarts[sequence + 1] - queryStarts[sequence];
            requireContext(sequence, tokens, contextLengths[sequence]);
            if (tokens == 1) {
                decodeCount++;
            } else {
                wholeTiles += Math.ceilDiv(tokens, KernelSizes.PREFILL_ROWS);
                packedTokens += isShort(tokens, contextLengths[sequence]) ? tokens : 0;
            }
        }
        packs = 2L * wholeTiles * kvHeads * group <= waveBlocks && decodeCount + packedTokens <= MAX_SEQUENCES;
        reserve(decodeCount + (packs ? packedTokens : 0), mostTiles(queryStarts[sequenceCount], sequenceCount),
                kvHeads);
        runCount = 0;
        for (int sequence = 0; sequence < sequenceCount; sequence++) {
            int tokens = queryStarts[sequence + 1] - queryStarts[sequence];
            if (decodes(tokens, contextLengths[sequence])) {
                addRuns(sequence, queryStarts[sequence], tokens, contextLengths[sequence],
                        KernelSizes.DECODE_ROWS / group);
            }
        }
        arrangeRuns(pieceBlocks(kvHeads));
        arrangeTiles(queryStarts, contextLengths, sequenceCount);
    }

    private static boolean isShort(int tokens, int context) {
        return tokens > 1 && tokens <= MOST_PACKED_TOKENS && context - tokens >= LEAST_BEHIND * tokens;
    }

    private boolean decodes(int tokens, int context) {
        return tokens == 1 || packs && isShort(tokens, context);
    }

    private void addRuns(int sequence, int firstRow, int tokens, int context, int mostRows) {
        for (int token = 0; token < tokens; token += mostRows) {
            int length = Math.min(mostRows, tokens - token);
            int seen = context - (tokens - token - length);
            runSequences[runCount] = sequence;
            runRows[runCount] = firstRow + token;
            runLengths[runCount] = length;
            runContexts[runCount] = seen;
            blockCounts[runCount++] = Math.ceilDiv(seen, KernelSizes.BLOCK_TOKENS);
        }
    }

    private static void requireSequences(int count) {
        if (count > MAX_SEQUENCES) {
            throw new IllegalArgumentException("a step of %d sequences, takes %d".formatted(count, MAX_SEQUENCES));
        }
    }

    private static void requireContext(int sequence, int tokens, int contextLength) {
        if (tokens < 0 || tokens > 1 && contextLength < tokens || contextLength < 0) {
            throw new IllegalArgumentException("sequence %d has %d tokens in a context of %d positions"
                    .formatted(sequence, tokens, contextLength));
        }
    }

    /** @param rows that decode; each may be a run of its own */
    private void reserve(int rows, int mostTiles, int kvHeads) {
        if (blockCounts.length < rows) {
            runSequences = new int[2 * rows];
            runRows = new int[2 * rows];
            runLengths = new int[2 * rows];
            runContexts = new int[2 * rows];
            blockCounts = new int[2 * rows];
        }
        if (tileSequences.length < mostTiles) {
            tileSequences = new int[2 * mostTiles];
            tileRows = new int[2 * mostTiles];
        }
        if (decode.byteSize() < decodeBytes(rows, kvHeads)) {
            decode = segment(decodeBytes(2 * rows, kvHeads) / Integer.BYTES);
        }
        if (tiles.byteSize() < (long) mostTiles * TILE_INTS * Integer.BYTES) {
            tiles = segment(2L * mostTiles * TILE_INTS);
        }
    }

    private static int mostTiles(int tokenCount, int sequenceCount) {
        return tokenCount / KernelSizes.PREFILL_ROWS + sequenceCount;
    }

    private static MemorySegment segment(long ints) {
        return Arena.ofAuto().allocate(INT, ints);
    }

    // ---- how long the pieces are

    /** The most blocks of a piece: for each number of waves the shortest that it allows, of these the cheapest. */
    private int pieceBlocks(int kvHeads) {
        int longest = 1;
        for (int i = 0; i < runCount; i++) {
            longest = Math.max(longest, blockCounts[i]);
        }
        int capacity = workCapacity(runCount, kvHeads);
        int waves = waves(runCount, kvHeads);
        int best = longest;
        int leastCost = waves * (longest + BLOCK_COST);
        for (int piece = longest; waves <= waves(capacity, kvHeads) && piece > LEAST_PIECE; waves++) {
            piece = shortestPiece(Math.min(waves * waveBlocks / kvHeads, capacity), piece);
            int cost = waves * (piece + BLOCK_COST) + REDUCE_COST;
            if (cost < leastCost) {
                leastCost = cost;
                best = piece;
            }
        }
        return best;
    }

    /** The shortest piece with which there are {@code most} items at most; {@code longest} is long enough. */
    private int shortestPiece(int most, int longest) {
        int tooShort = LEAST_PIECE - 1;
        int fits = longest;
        while (fits - tooShort > 1) {
            int middle = (fits + tooShort) >>> 1;
            if (pieces(middle) <= most) {
                fits = middle;
            } else {
                tooShort = middle;
            }
        }
        return fits;
    }

    private int waves(int items, int kvHeads) {
        return Math.ceilDiv(items * kvHeads, waveBlocks);
    }

    private int pieces(int piece) {
        int count = 0;
        for (int i = 0; i < runCount; i++) {
            count += pieces(blockCounts[i], piece);
        }
        return count;
    }

    /** An empty context is one piece, too: somebody writes its zeros. */
    private static int pieces(int blocks, int piece) {
        return Math.max(1, (blocks + piece - 1) / piece);
    }

    // ---- items and tiles

    private void arrangeRuns(int piece) {
        order.restart(runCount);
        for (int i = 0; i < runCount; i++) {
            order.add(Math.ceilDiv(blockCounts[i], pieces(blockCounts[i], piece)));
        }
        order.sort();
        workCount = 0;
        reduceCount = 0;
        partialCount = 0;
        int firstReduce = HEADER_INTS + WORK_INTS * pieces(piece);
        for (int i = 0; i < runCount; i++) {
            int run = order.index(i);
            int count = pieces(blockCounts[run], piece);
            addWork(run, count);
            for (int row = 0; row < runLengths[run] && count > 1; row++) {
                put(decode, firstReduce + REDUCE_INTS * reduceCount++, runRows[run] + row, partialCount, count, 0);
                partialCount += count;
            }
        }
        put(decode, 0, workCount, reduceCount, firstReduce, 0);
    }

    /** Pieces differ by one block at most. A row's partial results are successive. */
    private void addWork(int run, int count) {
        int firstBlock = 0;
        for (int i = 0; i < count; i++) {
            int end = (int) Math.ceilDiv((long) blockCounts[run] * (i + 1), count);
            int tokens = Math.min(runContexts[run], end * KernelSizes.BLOCK_TOKENS)
                    - firstBlock * KernelSizes.BLOCK_TOKENS;
            int later = runContexts[run] - tokens - firstBlock * KernelSizes.BLOCK_TOKENS;
            int at = HEADER_INTS + WORK_INTS * workCount++;
            put(decode, at, runSequences[run], runRows[run], firstBlock, tokens);
            put(decode, at + 4, count == 1 ? NO_PARTIAL : partialCount + i, runLengths[run], later, count);
            firstBlock = end;
        }
    }

    private void arrangeTiles(int[] queryStarts, int[] contextLengths, int sequenceCount) {
        order.restart(mostTiles(queryStarts[sequenceCount], sequenceCount));
        int count = 0;
        for (int sequence = 0; sequence < sequenceCount; sequence++) {
            int start = queryStarts[sequence];
            int end = queryStarts[sequence + 1];
            int firstPosition = contextLengths[sequence] - (end - start);
            boolean isTiled = !decodes(end - start, contextLengths[sequence]);
            for (int row = start; row < end && isTiled; row += KernelSizes.PREFILL_ROWS) {
                int lastRow = Math.min(end, row + KernelSizes.PREFILL_ROWS) - 1;
                order.add(firstPosition + lastRow - start);
                tileSequences[count] = sequence;
                tileRows[count++] = row;
            }
        }
        order.sort();
        for (int tile = 0; tile < count; tile++) {
            int sequence = tileSequences[order.index(tile)];
            int row = tileRows[order.index(tile)];
            int firstPosition = contextLengths[sequence] - (queryStarts[sequence + 1] - row);
            put(tiles, TILE_INTS * tile, sequence, row, firstPosition,
                    Math.min(KernelSizes.PREFILL_ROWS, queryStarts[sequence + 1] - row));
        }
        tileCount = count;
    }

    private static void put(MemorySegment target, int index, int a, int b, int c, int d) {
        target.setAtIndex(INT, index, a);
        target.setAtIndex(INT, index + 1L, b);
        target.setAtIndex(INT, index + 2L, c);
        target.setAtIndex(INT, index + 3L, d);
    }

    // ---- what came of it

    /** The decode plan, the part that is filled. */
    MemorySegment decode() {
        return decode.asSlice(0, (long) Integer.BYTES
                * (HEADER_INTS + WORK_INTS * workCount + REDUCE_INTS * reduceCount));
    }

    /** The prefill tiles, the part that is filled. */
    MemorySegment tiles() {
        return tiles.asSlice(0, (long) Integer.BYTES * TILE_INTS * tileCount);
    }

    /** Sequences with one token. */
    int decodeCount() {
        return decodeCount;
    }

    int workCount() {
        return workCount;
    }

    int reduceCount() {
        return reduceCount;
    }

    int partialCount() {
        return partialCount;
    }

    int tileCount() {
        return tileCount;
    }

    // ---- grids that a captured graph launches, for this plan and others like it

    /**
     * Work items: as many as the step may have sequences where none is cut, what fills one wave where that is enough,
     * otherwise the most. Thread blocks without work cost next to nothing each, hundreds of them microseconds a layer.
     * @param decodes the most sequences of a step that the graph serves
     */
    int workGrid(int decodes, int kvHeads) {
        if (reduceCount == 0) {
            return decodes;
        }
        int wave = waveBlocks / kvHeads;
        return workCount <= wave ? wave : workCapacity(decodes, kvHeads);
    }

    /** Reduce items: none where no sequence is cut, otherwise the most, of which each takes an extra work item. */
    int reduceGrid(int decodes, int kvHeads) {
        return reduceCount == 0 ? 0 : Math.min(decodes, extraWork(kvHeads));
    }
}
