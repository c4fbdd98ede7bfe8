package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.AttentionSpec;
import dev.warmpath.worker.compute.CacheShape;
import org.jspecify.annotations.Nullable;

/** Sizes that the kernels are built for. */
final class KernelSizes {

    /** Tokens in a block of the cache. */
    static final int BLOCK_TOKENS = 16;
    /** Query heads over one KV head, which attention packs into the 16 rows of one matrix instruction. */
    static final int MOST_HEADS_PER_GROUP = 16;
    /** Rows are read in pieces of 16 bytes. */
    static final int WIDTH_STEP = 8;

    private KernelSizes() {
    }

    /** As {@link dev.warmpath.worker.compute.ComputeBackend#lack} says. */
    static @Nullable String lack(CacheShape shape, int queryHeadCount, AttentionSpec attention, int... widths) {
        String lack = lackOfHeads(shape);
        if (lack == null) {
            lack = lackOfGroup(shape, queryHeadCount);
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
        boolean known = shape.headSize() == 32 || shape.headSize() == 64 || shape.headSize() == 128;
        return known ? null : "heads have %d elements, kernels take 32, 64 or 128".formatted(shape.headSize());
    }

    private static @Nullable String lackOfGroup(CacheShape shape, int queryHeadCount) {
        int group = queryHeadCount / shape.kvHeadCount();
        return group <= MOST_HEADS_PER_GROUP ? null
                : "%d query heads share one of %d KV heads, kernels take groups of at most %d"
                        .formatted(group, shape.kvHeadCount(), MOST_HEADS_PER_GROUP);
    }

    private static @Nullable String lackOfAttention(AttentionSpec spec) {
        if (spec.window() != AttentionSpec.NO_WINDOW) {
            return "attention has a window of %d tokens, kernels take none".formatted(spec.window());
        }
        if (spec.softCap() != AttentionSpec.NO_CAP) {
            return "attention caps scores at %s, kernels take no cap".formatted(spec.softCap());
        }
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
