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
 * The worker with the longest match, of equal ones that with the least expected wait, whatever the others do. A worker
 * that has far more requests than the mean of the fleet is left; if all with the longest match are, the least expected
 * wait decides among those that are not:
 * <pre>
 * left:    requests &gt; 1.5 x mean  and  requests &gt; mean + margin
 * margin = min(64, max(4, 2 x standard deviation of a count with that mean, rounded up))
 * wait   = pending tokens + 1,024 x requests past their first token + 300 x used / free share of the blocks
 * </pre>
 * Where nobody holds anything, the least expected wait decides at once, among all. The cost is what was compared:
 * uncached tokens, or the wait in prompt tokens.
 *
 * <p>Source: {@code cache_aware} with KV events of SMG (smg-project/smg at 91b3e0c, released as 1.13.0 in October 2026,
 * {@code model_gateway/src/policies/cache_aware.rs}) with its command line's 64 and 1.5; the gate by request is there
 * since #2161, the wait since #2341. The deviation is a Poisson count's, the root of the mean. The wait is that of
 * {@code least_load.rs} beside it: 1,024 tokens for a running request, 2,000 tokens a second, 0.15 s of KV pressure at
 * k / (1 - k), k at most 0.999.
 *
 * <p>Theirs goes by what engines report and by the rate at which each generates; here it is this router's books, by
 * which prompts in computation count with their tokens, and the one rate that they have for engines that report none.
 * Left out are their share of requests for workers that are new or empty, and the sample of 16 that stands for the
 * fleet from 33 workers on. Ties that are left go to the fewest requests, then to the one chosen longest ago; theirs to
 * any.
 */
public final class SmgCacheAware implements RoutingPolicy {

    private static final List<String> BY_MATCH = List.of("uncached");
    private static final List<String> BY_WAIT = List.of("pending", "running", "memory", "left_out");
    private static final double REL_THRESHOLD = 1.5;
    private static final double LEAST_MARGIN = 4;
    private static final double LARGEST_MARGIN = 64;
    private static final double DEVIATIONS = 2;
    private static final long TOKENS_PER_RUNNING_REQUEST = 1_024;
    /** 0.15 s at 2,000 tokens a second. */
    private static final long PRESSURE_TOKENS = 300;
    /** At 0.999 of the pool: 999 times as much is used as is free. */
    private static final long LARGEST_PRESSURE_TOKENS = 999 * PRESSURE_TOKENS;
    /** More than any worker's wait. */
    private static final long LEFT_OUT = 1L << 48;

    @Override
    public PolicyName name() {
        return PolicyName.SMG_CACHE_AWARE;
    }

    @Override
    public Choice choose(RouteQuery query, List<Candidate> candidates) {
        List<Candidate> open = CandidateCost.openCandidates(candidates);
        int most = open.stream().mapToInt(Candidate::matchedBlocks).max().orElse(0);
        double bound = most == 0 ? Double.MAX_VALUE : bound(open);
        var byWait = Ranking.bySum(candidates, each -> wait(each, bound));
        List<CandidateCost> homes = byWait.open().stream()
                .filter(each -> isHome(each.candidate(), most, bound)).toList();
        if (most == 0 || homes.isEmpty()) {
            return byWait.byPrefix(byWait.lowest());
        }
        CandidateCost home = new Ranking(byWait.all(), homes).lowest();
        var byMatch = Ranking.bySum(candidates, each -> new Terms(BY_MATCH, each.uncachedTokens(query)));
        return byMatch.because(RouteReason.PREFIX, byMatch.all().get(byWait.all().indexOf(home)));
    }

    private static boolean isHome(Candidate candidate, int most, double bound) {
        return candidate.matchedBlocks() == most && candidate.requests() <= bound;
    }

    /** A worker with more requests has too many: both the share of the mean and the margin are passed. */
    private static double bound(List<Candidate> open) {
        double mean = open.stream().mapToInt(Candidate::requests).average().orElse(0);
        double swing = Math.ceil(DEVIATIONS * Math.sqrt(mean));
        double margin = Math.min(LARGEST_MARGIN, Math.max(LEAST_MARGIN, swing));
        return Math.max(REL_THRESHOLD * mean, mean + margin);
    }

    private static Terms wait(Candidate candidate, double bound) {
        return new Terms(BY_WAIT, candidate.pendingTokens(),
                TOKENS_PER_RUNNING_REQUEST * Math.max(0, candidate.requests() - candidate.pendingRequests()),
                pressure(candidate), candidate.requests() > bound ? LEFT_OUT : 0);
    }

    private static long pressure(Candidate candidate) {
        long free = Math.max(1, candidate.blockCount() - candidate.usedBlocks());
        return Math.min(LARGEST_PRESSURE_TOKENS, PRESSURE_TOKENS * candidate.usedBlocks() / free);
    }
}
