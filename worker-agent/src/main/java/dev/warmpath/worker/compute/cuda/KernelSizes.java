package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.CacheShape;
import org.jspecify.annotations.Nullable;

/** Sizes that the kernels are built for. */
final class KernelSizes {

    /** Query heads over one KV head, which attention packs into the 16 rows of one matrix instruction. */
    static final int MOST_HEADS_PER_GROUP = 16;
    /** Rows are read in pieces of 16 bytes. */
    static final int WIDTH_STEP = 8;

    private KernelSizes() {
    }

    /** As {@link dev.warmpath.worker.compute.ComputeBackend#lack} says. */
    static @Nullable String lack(CacheShape shape, int queryHeadCount, int... widths) {
        if (shape.headSize() != 32 && shape.headSize() != 64 && shape.headSize() != 128) {
            return "heads have %d elements, kernels take 32, 64 or 128".formatted(shape.headSize());
        }
        if (queryHeadCount / shape.kvHeadCount() > MOST_HEADS_PER_GROUP) {
            return "%d query heads share one of %d KV heads, kernels take groups of at most %d".formatted(
                    queryHeadCount / shape.kvHeadCount(), shape.kvHeadCount(), MOST_HEADS_PER_GROUP);
        }
        for (int width : widths) {
            if (width % WIDTH_STEP != 0) {
                return "rows have %d elements, kernels take multiples of %d".formatted(width, WIDTH_STEP);
            }
        }
        return null;
    }
}
