package dev.warmpath.router.routing;

import dev.warmpath.router.fleet.HealthState;
import dev.warmpath.router.fleet.IndexGrade;

/**
 * One worker as the policy sees it when a request is to be placed.
 *
 * @param workerId      for the decision's record
 * @param matchedBlocks leading blocks of this prompt that it is taken to hold, or to be about to, at most the reusable
 *                      ones
 * @param pendingTokens uncached prompt tokens of requests before this one that have no first token yet
 * @param requests      requests that it computes or keeps waiting, as far as this router knows
 * @param maxSequences  most requests that it computes at the same time
 * @param usedBlocks    blocks that requests hold; cached blocks that nobody uses are not among them
 * @param sharedBlocks  leading blocks of this prompt that are among the used ones: they need no second place
 * @param blockCount    blocks of its pool
 * @param lastChosen    number of this router's decision that chose it last; 0 = never
 * @param grade         how far the matched blocks can be relied on
 * @param health        whether requests go there
 * @param failureShare  share of this router's last requests there that failed, 0 to 1
 * @param promisedBlocks likewise that it announces, believed or not; 0 while the index is behind it
 */
public record Candidate(
        String workerId,
        int matchedBlocks,
        long pendingTokens,
        int requests,
        int maxSequences,
        int usedBlocks,
        int sharedBlocks,
        int blockCount,
        long lastChosen,
        IndexGrade grade,
        HealthState health,
        double failureShare,
        int promisedBlocks) {}
