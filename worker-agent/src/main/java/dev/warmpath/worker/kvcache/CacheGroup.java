package dev.warmpath.worker.kvcache;

/**
 * How the layers of one group look back. All layers of a group share one block table; a model whose layers differ has
 * several groups, and a sequence one table in each.
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
     * @param window positions that a token sees, its own included, at least 1
     */
    record SlidingWindow(int window) implements CacheGroup {

        public SlidingWindow {
            if (window < 1) {
                throw new IllegalArgumentException(
                        "a window of " + window + " positions sees nothing, at least 1 is needed");
            }
        }

        @Override
        public int unseenTokens(int computedTokens) {
            return Math.max(0, computedTokens - window + 1);
        }
    }
}
