package dev.warmpath.router.decisions;

import dev.warmpath.router.fleet.IndexAge;
import dev.warmpath.router.routing.CandidateCost;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import tools.jackson.databind.PropertyNamingStrategies.SnakeCaseStrategy;
import tools.jackson.databind.annotation.JsonNaming;

/**
 * One worker that could have been chosen, and what it would cost.
 *
 * @param matchedBlocks  leading blocks of the prompt that it is taken to hold
 * @param promisedBlocks leading blocks of the prompt that it announces; more than it is believed, if it promised before
 *                       what it did not find
 * @param grade          how far the matched blocks can be relied on
 * @param behindBatches  batches that the index lacks of it
 * @param behindMs       for how long
 * @param health         healthy, or ejected, on_trial or unreachable: then it is left out while a healthy one is there
 * @param cost           the smallest wins, or one that is as good
 * @param terms          what it is made of, by the policy's names; of the default policy each a number of uncached
 *                       prompt tokens: the time that computing so many takes
 */
@JsonNaming(SnakeCaseStrategy.class)
public record CandidateView(
        String worker,
        int matchedBlocks,
        int promisedBlocks,
        String grade,
        long behindBatches,
        long behindMs,
        String health,
        long cost,
        Map<String, Long> terms,
        int requests,
        int usedBlocks,
        int blockCount) {

    public static CandidateView of(CandidateCost one) {
        var seen = one.candidate();
        IndexAge age = seen.indexAge();
        return new CandidateView(seen.workerId(), seen.matchedBlocks(), seen.promisedBlocks(), seen.grade().text(),
                age.batches(), TimeUnit.NANOSECONDS.toMillis(age.nanos()), seen.health().text(), one.cost(),
                one.terms().asMap(), seen.requests(), seen.usedBlocks(), seen.blockCount());
    }
}
