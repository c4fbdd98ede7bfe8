package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.AttentionSpec;
import dev.warmpath.worker.compute.CacheShape;
import org.jspecify.annotations.Nullable;

/**
 * Sizes that the kernels are built for. The numbers stand here alone: {@code src/main/cuda/sizes.sh} makes a header of
 * them for the kernels. Threads are those of a block.
 */
final class KernelSizes {

    /** Tokens in a block of the cache. */
    static final int BLOCK_TOKENS = 16;
    /** Rows are read in pieces of 16 bytes. */
    static final int WIDTH_STEP = 8;
    /** Elements of a head are turned in two halves, each in such pieces. */
    static final int TURNED_STEP = 16;

    /**
     * Rows of a matrix instruction, into which attention packs the tokens of a short suffix times the query heads of
     * one KV head: so many heads may share one.
     */
    static final int DECODE_ROWS = 16;
    static final int DECODE_WARPS = 4;
    /** Tokens of a prefill tile. */
    static final int PREFILL_ROWS = 128;
    static final int PREFILL_WARPS = 4;
    /** Of the kernel that joins the pieces of a long context: a warp. */
    static final int REDUCE_THREADS = 32;

    static final int SAMPLE_THREADS = 512;
    /** Parts of a row of logits that blocks look at side by side. */
    static final int SAMPLE_SLICES = 8;
    /** Most tokens of a slice that are weighed in float64 without looking at all of the row again. */
    static final int SAMPLE_CANDIDATES = 512;
    /** What is left of a row between the kernels: {@code RowSlices} of sampling.cuh. */
    static final int SAMPLE_ROW_BYTES = 33024;
    /** What is left of a slice of raw logits that are adjusted: {@code Slice} of sampling.cuh. */
    static final int SAMPLE_SLICE_BYTES = 32;
    /** What is left of a row that is scored between the kernels: {@code RowScores} of scoring.cuh. */
    static final int SCORED_ROW_BYTES = 1568;

    /** Of kernels that copy or turn a row. */
    static final int ROW_THREADS = 128;
    static final int NORM_THREADS = 256;
    /** Each takes 8 columns. */
    static final int GATE_THREADS = 256;
    static final int SCATTER_THREADS = 256;
    /** Blocks for each run of values. */
    static final int SCATTER_BLOCKS = 8;
    static final int COPY_THREADS = 256;
    static final int SKINNY_THREADS = 256;
    /** Outputs that a block of the skinny product takes. */
    static final int SKINNY_OUTPUTS = 16;
    /** Neighbours in a row of a weight with blocks that one lane takes apart; rows are whole groups. */
    static final int GROUP_ELEMENTS = 32;
    /** Rows of the input that one matrix instruction of the product with blocks takes, a tile. */
    static final int PRODUCT_TILE_ROWS = 8;
    /** Tiles of the larger of its two kernels; the smaller one has one. */
    static final int PRODUCT_TILES = 4;

    private KernelSizes() {
    }

    /** As {@link dev.warmpath.worker.compute.ComputeBackend#lack} says. */
    static @Nullable String lack(CacheShape shape, int queryHeadCount, int turnedElements, AttentionSpec attention,
                                 int... widths) {
        String lack = lackOfHeads(shape);
        if (lack == null) {
            lack = lackOfGroup(shape, queryHeadCount);
        }
        if (lack == null) {
            lack = lackOfTurning(turnedElements);
        }
        if (lack == null) {
            lack = lackOfAttention(attention);
        }
        for (int i = 0; i < widths.length && lack == null; i++) {
            lack = lackOfWidth(widths[i]);
        }
        return lack;
    }

    private static @Nullable String lackOfHeads(CacheShape shape) {
        int size = shape.headSize();
        return isCommon(size) || size == 96 || size == 256 ? null
                : "heads have %d elements, kernels take 32, 64, 96, 128 or 256".formatted(size);
    }

    /** Whether there are kernels for heads of this size that know neither window nor cap. */
    static boolean isCommon(int headSize) {
        return headSize == 32 || headSize == 64 || headSize == 128;
    }

    private static @Nullable String lackOfGroup(CacheShape shape, int queryHeadCount) {
        int group = queryHeadCount / shape.kvHeadCount();
        return group <= DECODE_ROWS ? null
                : "%d query heads share one of %d KV heads, kernels take groups of at most %d"
                        .formatted(group, shape.kvHeadCount(), DECODE_ROWS);
    }

    private static @Nullable String lackOfTurning(int elements) {
        return elements % TURNED_STEP == 0 ? null
                : "heads turn %d elements, kernels take multiples of %d".formatted(elements, TURNED_STEP);
    }

    private static @Nullable String lackOfAttention(AttentionSpec spec) {
        return spec.sinks() ? "attention has sinks, kernels take none" : null;
    }

    private static @Nullable String lackOfWidth(int width) {
        return width % WIDTH_STEP == 0 ? null
                : "rows have %d elements, kernels take multiples of %d".formatted(width, WIDTH_STEP);
    }

    /** @throws IllegalArgumentException if there are no kernels for a cache of this shape */
    static void requireCache(CacheShape shape) {
        require(lackOfHeads(shape));
        if (shape.blockSize() != BLOCK_TOKENS) {
            require("cache blocks have %d tokens, kernels take %d".formatted(shape.blockSize(), BLOCK_TOKENS));
        }
    }

    /** @throws IllegalArgumentException if too many query heads share a KV head */
    static void requireGroup(CacheShape shape, int queryHeadCount) {
        require(lackOfGroup(shape, queryHeadCount));
    }

    /** @throws IllegalArgumentException if no kernel turns so many elements of a head */
    static void requireTurned(int elements) {
        require(lackOfTurning(elements));
    }

    /** @throws IllegalArgumentException if the kernels know no such attention */
    static void requireAttention(AttentionSpec spec) {
        require(lackOfAttention(spec));
    }

    /** @throws IllegalArgumentException if rows of activations or weights have no such width */
    static void requireWidth(int width) {
        require(lackOfWidth(width));
    }

    private static void require(@Nullable String lack) {
        if (lack != null) {
            throw new IllegalArgumentException(lack + ": use warmpath.compute.backend=vector");
        }
    }
}
