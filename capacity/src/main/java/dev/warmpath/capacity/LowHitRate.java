package dev.warmpath.capacity;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Why few blocks are found cached. Each cause is told by numbers that are known; what is not known is left out.
 *
 * @see Facts
 */
public final class LowHitRate {

    /** Below it little could be found by anybody. */
    private static final double LITTLE_SHARED = 0.05;
    /** Of what could be found, a cache that finds so much does well. */
    private static final double WELL = 0.9;
    private static final int UNKNOWN = -1;

    /**
     * What is known of a load and a cache; {@value LowHitRate#UNKNOWN} where it is not.
     *
     * @param blockTokens      of a block
     * @param hitRate          share of full blocks that were found
     * @param couldBe          the share that an endless cache would have found
     * @param sharedTokens     of the beginning that most prompts have in common
     * @param medianPrompt     tokens of a prompt
     * @param prefixCaching    whether it is on; 1 or 0
     * @param poolBlocks       of all workers together
     * @param workingSetBlocks with which a cache finds nearly all there is
     * @param medianReuse      blocks that are used between two uses of one
     */
    public record Facts(int blockTokens, double hitRate, double couldBe, long sharedTokens, long medianPrompt,
            int prefixCaching, long poolBlocks, long workingSetBlocks, long medianReuse) {

        /** Nothing is known but the size of blocks. */
        public static Facts of(int blockTokens) {
            return new Facts(blockTokens, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN);
        }

        public Facts withRates(double found, double possible) {
            return new Facts(blockTokens, found, possible, sharedTokens, medianPrompt, prefixCaching, poolBlocks,
                    workingSetBlocks, medianReuse);
        }

        public Facts withPrompts(long shared, long median) {
            return new Facts(blockTokens, hitRate, couldBe, shared, median, prefixCaching, poolBlocks, workingSetBlocks,
                    medianReuse);
        }

        public Facts withPrefixCaching(boolean isOn) {
            return new Facts(blockTokens, hitRate, couldBe, sharedTokens, medianPrompt, isOn ? 1 : 0, poolBlocks,
                    workingSetBlocks, medianReuse);
        }

        public Facts withCache(long blocks, long workingSet, long reuse) {
            return new Facts(blockTokens, hitRate, couldBe, sharedTokens, medianPrompt, prefixCaching, blocks,
                    workingSet, reuse);
        }
    }

    private LowHitRate() {}

    /** In sentences, the most certain first; empty if nothing that is known explains it. */
    public static List<String> causes(Facts facts) {
        List<String> causes = new ArrayList<>();
        if (facts.prefixCaching == 0) {
            causes.add("prefix caching is off: set warmpath.kv.prefix-caching=true (vLLM: --enable-prefix-caching)");
        }
        if (facts.couldBe >= 0 && facts.couldBe < LITTLE_SHARED) {
            causes.add(String.format(Locale.ROOT, "prompts have next to nothing in common: even an endless cache"
                    + " would find %.1f %% of their blocks; put what is the same for all at the begin of prompts,"
                    + " what differs (a time, an id, a user's name) at their end", 100 * facts.couldBe));
        }
        if (facts.medianPrompt >= 0 && facts.medianPrompt <= facts.blockTokens) {
            causes.add("half of the prompts have " + facts.medianPrompt + " tokens or fewer, and a block has "
                    + facts.blockTokens + ": they fill none that could be found; set a smaller warmpath.kv.block-size"
                    + " (vLLM: --block-size)");
        }
        int lost = facts.sharedTokens <= 0 ? 0
                : PrefixSharing.lostTokens((int) Math.min(facts.sharedTokens, Integer.MAX_VALUE), facts.blockTokens);
        if (lost > 0) {
            causes.add("the beginning that prompts share has " + facts.sharedTokens
                    + " tokens, which is no multiple of the block size " + facts.blockTokens + ": " + lost
                    + " of them are computed for every request; lengthen it by " + (facts.blockTokens - lost)
                    + " or take smaller blocks");
        }
        if (facts.poolBlocks >= 0 && facts.workingSetBlocks > 0
                && facts.poolBlocks < CacheBudget.withHeadroom(facts.workingSetBlocks)) {
            causes.add(String.format(Locale.ROOT, "the cache is too small: it has %,d blocks, and what is reused"
                    + " needs %,d with a fifth of headroom; add workers, or memory (warmpath.kv.memory-utilization,"
                    + " vLLM: --gpu-memory-utilization)", facts.poolBlocks,
                    CacheBudget.withHeadroom(facts.workingSetBlocks)));
        }
        if (facts.poolBlocks >= 0 && facts.medianReuse > facts.poolBlocks) {
            causes.add(String.format(Locale.ROOT, "blocks are evicted before they are used again: in the median %,d"
                    + " others are used in between, and the cache has %,d", facts.medianReuse, facts.poolBlocks));
        }
        if (causes.isEmpty() && facts.hitRate >= 0 && facts.couldBe > 0 && facts.hitRate < WELL * facts.couldBe) {
            causes.add(String.format(Locale.ROOT, "%.1f %% were found, and %.1f %% could be: requests may go where"
                    + " their blocks are not (see warmpath.routing.policy), or tenants' salts keep equal prompts apart",
                    100 * facts.hitRate, 100 * facts.couldBe));
        }
        return causes;
    }
}
