package dev.warmpath.router.routing;

import dev.warmpath.protocol.fleet.StepCost;
import dev.warmpath.router.fleet.IndexAge;
import dev.warmpath.router.fleet.IndexGrade;
import dev.warmpath.router.health.HealthState;

/**
 * One worker as the policy sees it when a request is to be placed.
 *
 * @param workerId      for the decision's record
 * @param matchedBlocks leading blocks of this prompt that it is taken to hold, or to be about to, at most the reusable
 *                      ones
 * @param pendingTokens uncached prompt tokens of requests before this one that have no first token yet
 * @param pendingRequests how many these are, as far as this router knows
 * @param requests      requests that it computes or keeps waiting, as far as this router knows
 * @param maxSequences  most requests that it computes at the same time
 * @param usedBlocks    blocks that requests hold; cached blocks that nobody uses are not among them
 * @param sharedBlocks  leading blocks of this prompt that are among the used ones: they need no second place
 * @param blockCount    blocks of its pool
 * @param lastChosen    number of this router's decision that chose it last; 0 = never
 * @param indexAge      how far the index is behind it: the matched blocks are as old
 * @param grade         how far the matched blocks can be relied on
 * @param health        whether requests go there
 * @param failureShare  share of this router's last requests there that failed, 0 to 1
 * @param promisedBlocks likewise that it announces, believed or not; 0 while the index is behind it
 * @param cachedBlocks  blocks that it announces, of whatever prompt, in its pool or its host tier
 * @param mostCachedBlocks most that it could announce
 * @param contextTokens of its requests, shared ones as often as they are shared
 * @param stepCost      what its steps take
 */
public record Candidate(
        String workerId,
        int matchedBlocks,
        long pendingTokens,
        int pendingRequests,
        int requests,
        int maxSequences,
        int usedBlocks,
        int sharedBlocks,
        int blockCount,
        long lastChosen,
        IndexAge indexAge,
        IndexGrade grade,
        HealthState health,
        double failureShare,
        int promisedBlocks,
        int cachedBlocks,
        int mostCachedBlocks,
        long contextTokens,
        StepCost stepCost) {

    /** Of a cache with no more than this in it, nothing is pushed out by what is computed next. */
    private static final double ROOMY_SHARE = 0.6;
    /** No part of a step that is not the prompts' takes as long as so many tokens of them, whatever a worker says. */
    private static final double MOST_STEP_TOKENS = 4_096;
    /** In a usual step; 2 to 20 serve about as well where a step has no fixed part, and elsewhere they hardly count. */
    private static final int FEW_STREAMS = 5;
    /** A short answer's worth of steps: how long a full worker takes to free a slot. */
    private static final long TOKENS_PER_MISSING_SLOT = 512;

    /** How surely a block that is computed here pushes another one out, 0 to 1: as its last tier fills. */
    public double fullness() {
        return fullness(cachedBlocks, mostCachedBlocks);
    }

    static double fullness(int cachedBlocks, int mostCachedBlocks) {
        double share = (double) cachedBlocks / mostCachedBlocks;
        return share <= ROOMY_SHARE ? 0 : share >= 1 ? 1 : (share - ROOMY_SHARE) / (1 - ROOMY_SHARE);
    }

    /** Tokens of the prompt that it would have to compute. */
    public long uncachedTokens(RouteQuery query) {
        return query.promptTokens() - (long) matchedBlocks * query.blockSize();
    }

    /** The part of its every step that does not depend on what is in it, in uncached prompt tokens. */
    public double fixedTokens() {
        return fixedTokens(stepCost);
    }

    static double fixedTokens(StepCost stepCost) {
        return Math.min(MOST_STEP_TOKENS, stepCost.fixedTokens());
    }

    /**
     * By how much of a usual step, which is its fixed part and five rows like its own, its requests make each step
     * longer once they draw. Not more than as many times as it has requests.
     */
    static double rowsOverUsualStep(StepCost stepCost, int requests, long contextTokens) {
        double rows = stepCost.rowsMicros(requests, contextTokens);
        return rows == 0 || requests == 0 ? 0 : rows / (stepCost.stepMicros() + FEW_STREAMS * rows / requests);
    }

    /** Sequence slots that it is short of for one request more. */
    public int missingSlots() {
        return missingSlots(requests, maxSequences);
    }

    static int missingSlots(int requests, int maxSequences) {
        return Math.max(0, requests + 1 - maxSequences);
    }

    /** What waiting until enough blocks are free costs, in uncached tokens. */
    public long memoryTokens(RouteQuery query) {
        return query.blockSize() * missingBlocks(query.promptBlocks(), usedBlocks, sharedBlocks, blockCount);
    }

    static long missingBlocks(int promptBlocks, int usedBlocks, int sharedBlocks, int blockCount) {
        return Math.max(0, (long) usedBlocks + promptBlocks - sharedBlocks - blockCount);
    }

    /**
     * What the first token waits for, in uncached prompt tokens: those before the request and its own, and a step for
     * each request that has none yet. It is measured against the time that this takes, so nothing of it is a matter of
     * weights.
     */
    public long workTokens(RouteQuery query) {
        double rows = Math.min(MOST_STEP_TOKENS, stepCost.rowTokens(requests, contextTokens));
        return uncachedTokens(query) + pendingTokens + Math.round(fixedTokens() * pendingRequests + rows)
                + TOKENS_PER_MISSING_SLOT * missingSlots() + memoryTokens(query);
    }
}
