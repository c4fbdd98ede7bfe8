package dev.warmpath.router.routing;

import dev.warmpath.protocol.block.BlockHashChain;
import java.util.function.IntPredicate;

/** Finds where an unbroken run of a chain ends. */
final class LeadingBlocks {

    private LeadingBlocks() {}

    /**
     * By halving; one question where nothing is held, as of most prompts.
     *
     * @param holds whether the block of that index is held; true for all below the run's end, false from there on
     */
    static int count(int limit, IntPredicate holds) {
        return limit == 0 || !holds.test(0) ? 0 : halve(1, limit + 1, holds);
    }

    /**
     * How many two chains have in common: one question if all, a few where they part.
     *
     * @param known that they have, at least 1
     * @param limit blocks to look at
     */
    static int common(BlockHashChain one, BlockHashChain other, int known, int limit) {
        return one.key(limit - 1) == other.key(limit - 1) ? limit
                : halve(known, limit, block -> one.key(block) == other.key(block));
    }

    /** @param held blocks that are. @param missing more than that, and more than are */
    private static int halve(int held, int missing, IntPredicate holds) {
        int low = held;
        int high = missing;
        while (high - low > 1) {
            int middle = (low + high) >>> 1;
            if (holds.test(middle - 1)) {
                low = middle;
            } else {
                high = middle;
            }
        }
        return low;
    }
}
