package dev.warmpath.router.routing.peers;

import dev.warmpath.router.routing.Candidate;
import dev.warmpath.router.routing.CandidateCost;
import dev.warmpath.router.routing.Choice;
import dev.warmpath.router.routing.PolicyName;
import dev.warmpath.router.routing.RouteQuery;
import dev.warmpath.router.routing.RouteReason;
import dev.warmpath.router.routing.RoutingPolicy;
import dev.warmpath.router.routing.Terms;
import java.util.List;

/**
 * The worker with the longest match, of equal ones that with fewer requests, whatever the others do; it alone is looked
 * at, and left for the least expected wait if it has far more requests than the mean of the fleet:
 * <pre>
 * left:    requests &gt; 1.5 x mean  and  requests &gt; mean + margin
 * margin = max(4, min(64, 2 x standard deviation of a count with that mean))
 * wait   = pending tokens + 300 x used blocks / free blocks                    in prompt tokens
 * </pre>
 * Where nobody holds anything, the least expected wait decides at once. The cost is what was compared: uncached tokens,
 * or the wait.
 *
 * <p>Source: {@code cache_aware} with KV events of SMG (smg-project/smg, model_gateway/src/policies/cache_aware.rs):
 * the gate by request since #2161, expected wait in place of fewest requests since #2341. At f8daa88 (2026-08-22,
 * after v1.9.0) the margin is 64 by itself; the bounds of 4 and two deviations are 1.13's by its description, whose
 * source was not read. The deviation is a Poisson count's, the root of the mean: by their argument (#2150) a margin is
 * there for the noise of counts, and that of the fleet's own counts could not be exceeded by one worker of few. The
 * wait is {@code least_load}'s, 2,000 tokens a second and 0.15 s of KV pressure, by the pending tokens of this router's
 * books. Ties that are left go to the one chosen longest ago; theirs to any.
 */
public final class SmgCacheAware implements RoutingPolicy {

    private static final List<String> BY_MATCH = List.of("uncached");
    private static final List<String> BY_WAIT = List.of("pending", "memory");
    private static final double REL_THRESHOLD = 1.5;
    private static final double LEAST_MARGIN = 4;
    private static final double LARGEST_MARGIN = 64;
    private static final double DEVIATIONS = 2;
    /** 0.15 s at 2,000 tokens a second. */
    private static final long PRESSURE_TOKENS = 300;

    @Override
    public PolicyName name() {
        return PolicyName.SMG_CACHE_AWARE;
    }

    @Override
    public Choice choose(RouteQuery query, List<Candidate> candidates) {
        var byMatch = Ranking.bySum(candidates, each -> new Terms(BY_MATCH, each.uncachedTokens(query)));
        CandidateCost home = byMatch.lowest();
        if (home.candidate().matchedBlocks() > 0 && !hasTooMany(home.candidate(), byMatch)) {
            return byMatch.because(RouteReason.PREFIX, home);
        }
        var byWait = Ranking.bySum(candidates, each -> new Terms(BY_WAIT, each.pendingTokens(), pressure(each)));
        return byWait.byPrefix(byWait.lowest());
    }

    private static boolean hasTooMany(Candidate home, Ranking ranking) {
        double mean = ranking.open().stream().mapToInt(each -> each.candidate().requests()).average().orElse(0);
        double margin = Math.max(LEAST_MARGIN, Math.min(LARGEST_MARGIN, DEVIATIONS * Math.sqrt(mean)));
        return home.requests() > REL_THRESHOLD * mean && home.requests() > mean + margin;
    }

    /** Use over what is left of it, which has no bound; a full pool counts as if one block were free. */
    private static long pressure(Candidate candidate) {
        return PRESSURE_TOKENS * candidate.usedBlocks() / Math.max(1, candidate.blockCount() - candidate.usedBlocks());
    }
}
