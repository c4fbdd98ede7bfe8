package dev.warmpath.worker.kvcache;

import java.util.Arrays;

/**
 * What one sequence holds in the cache and how far that has come: its block tables, its copy in swap space, and the
 * counts that go with them. The cache's own notes; everything here is written by a verb of this class.
 *
 * <pre>
 *   tables    | block 0 | block 1 | block 2 | block 3 | lookahead
 *   computed  | ............................. |                    by steps that are scheduled, or in flight, or over
 *   settled   | .................. |                               by steps that succeeded, or found in the cache
 *   keyed     | ................. |                                full blocks up to there have their keys
 * </pre>
 */
final class BlockHolding {

    private static final int ALL = Integer.MAX_VALUE;

    /** [groups]; of one until the cache is asked. */
    private int[] blockSizes;
    private BlockTable[] tables;
    private int computedTokens;
    private int settledTokens;
    /** Full blocks of each table that end within these tokens carry their key, unless they are the null block. */
    private int keyedTokens;
    /** Tokens whose blocks may get keys: what comes later was computed over blocks that have been evicted. */
    private int keyableTokens = ALL;
    /** The last of the computed tokens that are still on their way from elsewhere. */
    private int awaitedTokens;
    private boolean admittedBefore;
    private int cachedTokens;
    /** Computed tokens whose blocks lie in swap space. */
    private int swappedTokens;
    /** [groups]; host blocks of what was not unseen by then; empty until the first swap. */
    private BlockTable[] swapped = {};

    BlockHolding(int blockSize) {
        blockSizes = new int[] {blockSize};
        tables = newTables();
    }

    BlockTable table(int group) {
        return tables[group];
    }

    /** Of one table, of each: null blocks count. */
    boolean isEmpty() {
        return tables[0].blockCount() == 0;
    }

    int computedTokens() {
        return computedTokens;
    }

    /** Computed tokens but for those on their way from elsewhere. */
    int presentTokens() {
        return computedTokens - awaitedTokens;
    }

    /** How many of the computed tokens are known to be right: hits, and what steps that succeeded computed. */
    int settledTokens() {
        return settledTokens;
    }

    int keyedTokens() {
        return keyedTokens;
    }

    /** Leading tokens whose full blocks may carry a key. */
    int keyableTokens() {
        return keyableTokens;
    }

    /** True while tokens are on their way from elsewhere. */
    boolean isLoading() {
        return awaitedTokens > 0;
    }

    int cachedTokens() {
        return cachedTokens;
    }

    int swappedTokens() {
        return swappedTokens;
    }

    BlockTable swapped(int group) {
        return swapped[group];
    }

    /** Makes the tables of a cache's groups, before the first of them is begun. */
    void useGroups(int[] sizes) {
        if (!Arrays.equals(sizes, blockSizes)) {
            blockSizes = sizes;
            tables = newTables();
        }
    }

    /**
     * The tables begin with tokens that were found, and full blocks of so many of them with their keys.
     *
     * @param presentTokens with those that need not be computed either, but depend on the step being made; some may lie
     *                      in swap space still
     */
    void begin(int foundTokens, int keyed, int presentTokens) {
        keyableTokens = swappedTokens > foundTokens ? Math.max(keyableTokens, keyed) : ALL;
        settledTokens = foundTokens;
        keyedTokens = keyed;
        computedTokens = presentTokens;
    }

    /** @return true the first time */
    boolean countAdmission(int presentTokens) {
        if (admittedBefore) {
            return false;
        }
        admittedBefore = true;
        cachedTokens = presentTokens;
        return true;
    }

    void compute(int tokenCount) {
        computedTokens = tokenCount;
    }

    void key(int tokenCount) {
        keyedTokens = tokenCount;
    }

    /** Behind so many tokens there is no key, and will be none until the sequence begins anew. */
    void endKeys(int tokenCount) {
        keyableTokens = Math.min(keyableTokens, tokenCount);
        keyedTokens = Math.min(keyedTokens, tokenCount);
    }

    /** @throws IllegalArgumentException if a settled token would be unsettled, or one settled that is not computed */
    void settle(int tokenCount) {
        if (tokenCount < settledTokens || tokenCount > presentTokens()) {
            throw new IllegalArgumentException(
                    tokenCount + " computed tokens to settle, of " + settledTokens + " to " + presentTokens());
        }
        settledTokens = tokenCount;
    }

    /** What is not settled was never computed. */
    void withdraw() {
        computedTokens = settledTokens;
        awaitedTokens = 0;
    }

    /** The last so many of the computed tokens are on their way. */
    void load(int externalTokens) {
        awaitedTokens = externalTokens;
    }

    /**
     * So many of those on their way have arrived, and no more will.
     *
     * @param most so many tokens may count as computed at most
     * @throws IllegalArgumentException if more arrived than were asked for
     */
    void arrive(int externalTokens, int most) {
        if (awaitedTokens == 0 || externalTokens < 0 || externalTokens > awaitedTokens) {
            throw new IllegalArgumentException(externalTokens + " external tokens arrived, "
                    + (awaitedTokens == 0 ? "no load is under way" : awaitedTokens + " were asked for"));
        }
        computedTokens = settledTokens = Math.min(computedTokens - awaitedTokens + externalTokens, most);
        awaitedTokens = 0;
    }

    /** The tables are empty. */
    void end() {
        computedTokens = settledTokens = keyedTokens = awaitedTokens = 0;
    }

    /** Makes the tables of host blocks ready. */
    void swapOut(int tokenCount) {
        if (swapped.length != tables.length) {
            swapped = newTables();
        }
        swappedTokens = tokenCount;
    }

    /** The tables of host blocks are empty. */
    void dropSwapped() {
        swappedTokens = 0;
    }

    private BlockTable[] newTables() {
        var made = new BlockTable[blockSizes.length];
        Arrays.setAll(made, group -> new BlockTable(blockSizes[group]));
        return made;
    }
}
