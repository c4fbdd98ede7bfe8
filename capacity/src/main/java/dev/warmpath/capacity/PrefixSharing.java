package dev.warmpath.capacity;

/** What prompts' common beginnings are worth, from how often each is used. */
public final class PrefixSharing {

    private PrefixSharing() {}

    /** Uses that find what an earlier one has computed: the sum of {@code uses - 1}. @param uses of each, at least 1 */
    public static long reusable(long... uses) {
        long reusable = 0;
        for (long each : uses) {
            if (each < 1) {
                throw new IllegalArgumentException("a prefix that was used " + each + " times");
            }
            reusable += each - 1;
        }
        return reusable;
    }

    /** {@code reusable / total}: what need not be computed again, as a share; 0 when there was nothing. */
    public static double saved(long... uses) {
        long total = 0;
        for (long each : uses) {
            total += each;
        }
        return total == 0 ? 0 : (double) reusable(uses) / total;
    }

    /**
     * By how much of itself a first token comes sooner, on a worker that has nothing else to do: a prompt's share that
     * is cached, times how often it is found. Under load the wait before it outweighs it, in either direction.
     */
    public static double firstTokenSaved(double cachedShare, double hitRate) {
        return cachedShare * hitRate;
    }

    /** Tokens behind a prompt's shared beginning that are computed each time, since they do not fill a block. */
    public static int lostTokens(int sharedTokens, int blockTokens) {
        return sharedTokens % blockTokens;
    }
}
