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
 * <p><b>Prefill.</b> A sequence with more tokens is cut into tiles of up to {@value #TILE_ROWS} of them.
 *
 * <p>Items and tiles come longest first, so that the short ones fill what the long ones leave. Layouts, int32:
 * <pre>
 *   decode  {work count, reduce count, index of the first reduce item, 0}
 *           work    {sequence, row, first block, token count, partial or -1, 0, 0, 0}
 *           reduce  {row, first partial, partial count, 0}
 *   tiles   {sequence, first row, first position, row count}
 * </pre>
 * Buffers grow to the largest step and stay; arranging allocates nothing otherwise. Not thread-safe.
 */
final class AttentionPlan {

    static final int TILE_ROWS = 128;
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
    /** What a thread block does before and after its blocks, and what the pass over partial results takes. */
    private static final int BLOCK_COST = 2;
    private static final int REDUCE_COST = 4;
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;

    private final int waveBlocks;
    private final LargestFirst order = new LargestFirst();
    private MemorySegment decode = segment(HEADER_INTS);
    private MemorySegment tiles = segment(TILE_INTS);
    /** [decodes]: blocks of each sequence that decodes; and which sequence that is. */
    private int[] blockCounts = new int[16];
    private int[] sequences = new int[16];
    /** [tiles], in the order of their rows: the sequence of each, and its first row. */
    private int[] tileSequences = new int[16];
    private int[] tileRows = new int[16];
    private int decodeCount;
    private int workCount;
    private int reduceCount;
    private int partialCount;
    private int tileCount;

    AttentionPlan(int multiprocessors) {
        this.waveBlocks = BLOCKS_PER_MULTIPROCESSOR * multiprocessors;
    }

    /** Work items that cutting may add to one for each sequence. */
    private int extraWork(int kvHeads) {
        return Math.ceilDiv(EXTRA_WAVES * waveBlocks, kvHeads);
    }

    /** The most work items of a step in which {@code decodes} sequences have one token. */
    int workCapacity(int decodes, int kvHeads) {
        return decodes + extraWork(kvHeads);
    }

    /**
     * The most partial results of any step: s sequences cut into p pieces take p − s of the extra items, and p is 2s
     * at least.
     */
    int partialCapacity(int kvHeads) {
        return 2 * extraWork(kvHeads);
    }

    /** The most bytes of the plan of a step of {@code decodes} sequences with one token each. */
    long decodeBytes(int decodes, int kvHeads) {
        return (long) Integer.BYTES
                * (HEADER_INTS + WORK_INTS * workCapacity(decodes, kvHeads) + REDUCE_INTS * decodes);
    }

    /**
     * Arranges a step.
     * @param queryStarts    [sequenceCount + 1], as in a {@code PagedBatch}
     * @param contextLengths [sequenceCount]
     * @throws IllegalArgumentException if a sequence has more tokens than its context has positions, or there are too
     *                                  many
     */
    void arrange(int[] queryStarts, int[] contextLengths, int sequenceCount, int kvHeads) {
        requireSequences(sequenceCount);
        reserve(sequenceCount, queryStarts[sequenceCount], kvHeads);
        decodeCount = 0;
        for (int sequence = 0; sequence < sequenceCount; sequence++) {
            int tokens = queryStarts[sequence + 1] - queryStarts[sequence];
            requireContext(sequence, tokens, contextLengths[sequence]);
            if (tokens == 1) {
                blockCounts[decodeCount] = Math.ceilDiv(contextLengths[sequence], KernelSizes.BLOCK_TOKENS);
                sequences[decodeCount++] = sequence;
            }
        }
        arrangeDecodes(queryStarts, contextLengths, pieceBlocks(kvHeads));
        arrangeTiles(queryStarts, contextLengths, sequenceCount);
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

    private void reserve(int sequenceCount, int tokenCount, int kvHeads) {
        int mostTiles = mostTiles(tokenCount, sequenceCount);
        if (blockCounts.length < sequenceCount) {
            blockCounts = new int[2 * sequenceCount];
            sequences = new int[2 * sequenceCount];
        }
        if (tileSequences.length < mostTiles) {
            tileSequences = new int[2 * mostTiles];
            tileRows = new int[2 * mostTiles];
        }
        if (decode.byteSize() < decodeBytes(sequenceCount, kvHeads)) {
            decode = segment(decodeBytes(2 * sequenceCount, kvHeads) / Integer.BYTES);
        }
        if (tiles.byteSize() < (long) mostTiles * TILE_INTS * Integer.BYTES) {
            tiles = segment(2L * mostTiles * TILE_INTS);
        }
    }

    private static int mostTiles(int tokenCount, int sequenceCount) {
        return tokenCount / TILE_ROWS + sequenceCount;
    }

    private static MemorySegment segment(long ints) {
        return Arena.ofAuto().allocate(INT, ints);
    }

    // ---- how long the pieces are

    /** The most blocks of a piece: for each number of waves the shortest that it allows, of these the cheapest. */
    private int pieceBlocks(int kvHeads) {
        int longest = 1;
        for (int i = 0; i < decodeCount; i++) {
            longest = Math.max(longest, blockCounts[i]);
        }
        int capacity = workCapacity(decodeCount, kvHeads);
        int waves = waves(decodeCount, kvHeads);
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
        for (int i = 0; i < decodeCount; i++) {
            count += pieces(blockCounts[i], piece);
        }
        return count;
    }

    /** An empty context is one piece, too: somebody writes its zeros. */
    private static int pieces(int blocks, int piece) {
        return Math.max(1, (blocks + piece - 1) / piece);
    }

    // ---- items and tiles

    private void arrangeDecodes(int[] queryStarts, int[] contextLengths, int piece) {
        order.restart(decodeCount);
        for (int i = 0; i < decodeCount; i++) {
            order.add(Math.ceilDiv(blockCounts[i], pieces(blockCounts[i], piece)));
        }
        order.sort();
        workCount = 0;
        reduceCount = 0;
        partialCount = 0;
        int firstReduce = HEADER_INTS + WORK_INTS * pieces(piece);
        for (int i = 0; i < decodeCount; i++) {
            int index = order.index(i);
            int sequence = sequences[index];
            int row = queryStarts[sequence];
            int count = pieces(blockCounts[index], piece);
            if (count > 1) {
                put(decode, firstReduce + REDUCE_INTS * reduceCount++, row, partialCount, count, 0);
            }
            addWork(sequence, row, contextLengths[sequence], blockCounts[index], count);
        }
        put(decode, 0, workCount, reduceCount, firstReduce, 0);
    }

    /** Pieces differ by one block at most. */
    private void addWork(int sequence, int row, int tokens, int blocks, int count) {
        int firstBlock = 0;
        for (int i = 0; i < count; i++) {
            int end = (int) Math.ceilDiv((long) blocks * (i + 1), count);
            int at = HEADER_INTS + WORK_INTS * workCount++;
            put(decode, at, sequence, row, firstBlock,
                    Math.min(tokens, end * KernelSizes.BLOCK_TOKENS) - firstBlock * KernelSizes.BLOCK_TOKENS);
            put(decode, at + 4, count == 1 ? NO_PARTIAL : partialCount++, 0, 0, 0);
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
            for (int row = start; row < end && end - start > 1; row += TILE_ROWS) {
                int lastRow = Math.min(end, row + TILE_ROWS) - 1;
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
                    Math.min(TILE_ROWS, queryStarts[sequence + 1] - row));
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
