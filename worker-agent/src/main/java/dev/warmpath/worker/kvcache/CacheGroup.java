package dev.warmpath.worker.kvcache;

/**
 * How the layers of one group look back. All layers of a group share one block table; a model whose layers differ has
 * several groups, and a sequence one table in each.
 *
 * <p>Groups may have blocks of different sizes, where layers of one group keep more for a token than those of another and
 * a block is the same number of bytes in all. A block's key is then the hash of its tokens in blocks of its own size.
 */
public sealed interface CacheGroup {

    /** How many leading tokens are seen by none that follows the first so many. */
    int unseenTokens(int computedTokens);

    /** @param window positions that a token sees, its own included; 0 is all of them */
    static CacheGroup ofWindow(int window) {
        return window == 0 ? new FullAttention() : new SlidingWindow(window);
    }

    /** A token sees every token before it. */
    record FullAttention() implements CacheGroup {

        @Override
        public int unseenTokens(int computedTokens) {
            return 0;
        }
    }

    /**
     * A token sees only the nearest ones.
     *
     * @param window    positions that a token sees, its own included, at least 1
     * @param blockSize tokens in a block of this group; 0 is the cache's
     */
    record SlidingWindow(int window, int blockSize) implements CacheGroup {

        public SlidingWindow {
            if (window < 1) {
                throw new IllegalArgumentException(
                        "a window of " + window + " positions sees nothing, at least 1 is needed");
            }
            if (blockSize < 0) {
                throw new IllegalArgumentException("block size " + blockSize + " of a window is below 0");
            }
        }

        /** With blocks of the cache's size. */
        public SlidingWindow(int window) {
            this(window, 0);
        }

        @Override
        public int unseenTokens(int computedTokens) {
            return Math.max(0, computedTokens - window + 1);
        }
    }
}
