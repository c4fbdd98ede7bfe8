package dev.warmpath.router.routing.peers;

import dev.warmpath.router.routing.Candidate;
import dev.warmpath.router.routing.CandidateCost;
import dev.warmpath.router.routing.Choice;
import dev.warmpath.router.routing.PolicyName;
import dev.warmpath.router.routing.RouteQuery;
import dev.warmpath.router.routing.RoutingPolicy;
import dev.warmpath.router.routing.Terms;
import java.util.List;

/**
 * The least product of prefill work and load: no weight has to be found between the two.
 * <pre>
 * cost = (pending tokens + uncached tokens of this request) x (requests + 1)
 * </pre>
 * Its terms are the two factors.
 *
 * <p>Source: Zhang and others, "LMetric: Simple is Better - Multiplication May Be All You Need for LLM Request
 * Scheduling", arXiv 2603.15202, by its abstract: new prefill tokens times batch size. Others have it as proposals:
 * sgl-project/sglang, {@code sgl-model-gateway/src/policies/lmetric.rs} at acaa759, and llm-d/llm-d-router,
 * {@code lmetric-scorer} of #2351 at 2eab97c (2026-08-12, not merged by ebab687), both with the uncached part of the
 * request alone times requests and 1; ai-dynamo/dynamo in #11028 (June 2026, open; its description was read, not its
 * code) with Dynamo's prefill, pending prompts included, times decoding blocks and 1. Here the first factor is
 * Dynamo's, the second the others'. Of equal products SGLang's takes the fewest requests, too, llm-d's any. No
 * settings.
 */
public final class Lmetric implements RoutingPolicy {

    private static final List<String> TERMS = List.of("prefill", "load");

    @Override
    public PolicyName name() {
        return PolicyName.LMETRIC;
    }

    @Override
    public Choice choose(RouteQuery query, List<Candidate> candidates) {
        var ranking = Ranking.of(candidates, each -> cost(each.pendingTokens() + each.uncachedTokens(query),
                each.requests() + 1L, each));
        return ranking.byPrefix(ranking.lowest());
    }

    private static CandidateCost cost(long prefill, long load, Candidate candidate) {
        return new CandidateCost(candidate, prefill * load, new Terms(TERMS, prefill, load));
    }
}
