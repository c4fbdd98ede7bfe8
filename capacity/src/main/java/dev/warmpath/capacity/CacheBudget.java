package dev.warmpath.capacity;

/**
 * How large a cache should be: what is reused, and a fifth more, so that what is used once does not push it out
 * (working-set sizing as in the literature on prefix caches: prefixes x blocks x 1.2).
 */
public final class CacheBudget {

    private static final long NUMERATOR = 6;
    private static final long DENOMINATOR = 5;

    private CacheBudget() {}

    /** A fifth more, rounded up. @param workingSetBlocks 0 or more */
    public static long withHeadroom(long workingSetBlocks) {
        return Math.ceilDiv(Math.multiplyExact(workingSetBlocks, NUMERATOR), DENOMINATOR);
    }

    /** @param prefixes that are reused. @param tokensEach of each. @return in blocks, with headroom */
    public static long blocks(long prefixes, long tokensEach, int blockTokens) {
        return withHeadroom(Math.multiplyExact(prefixes, Math.ceilDiv(tokensEach, (long) blockTokens)));
    }
}
