package dev.warmpath.router.routing.peers;

import dev.warmpath.router.routing.Candidate;
import dev.warmpath.router.routing.Choice;
import dev.warmpath.router.routing.PolicyName;
import dev.warmpath.router.routing.RouteQuery;
import dev.warmpath.router.routing.RoutingPolicy;
import dev.warmpath.router.routing.Terms;
import java.util.List;

/**
 * The least cost of prefill and decode together, of equal ones any:
 * <pre>
 * cost = 1 x (pending prompt tokens + prompt tokens - tokens that are held) + tokens of the blocks that requests hold
 * </pre>
 * Counted in tokens where Dynamo counts in blocks of them, so that a part of a block is not lost. A busy worker with
 * long contexts is avoided even if it holds the prefix: the blocks that decode weigh as much as those to be computed.
 *
 * <p>Source: ai-dynamo/dynamo, {@code lib/kv-router/src/scheduling/selector/default.rs} and
 * {@code docs/components/router/router-concepts.md}: overlap weight 1, temperature 0. Its credits for lower tiers and
 * for shared caches have nothing to go by here.
 */
public final class DynamoCost implements RoutingPolicy {

    private static final List<String> TERMS = List.of("pending", "prefill", "overlap", "active");

    private final int prefillWeight;

    public DynamoCost() {
        this(1);
    }

    /** @param prefillWeight of a token to be computed against one that decodes, at least 0 */
    DynamoCost(int prefillWeight) {
        this.prefillWeight = prefillWeight;
    }

    @Override
    public PolicyName name() {
        return PolicyName.DYNAMO_COST;
    }

    @Override
    public Choice choose(RouteQuery query, List<Candidate> candidates) {
        var ranking = Ranking.bySum(candidates, each -> new Terms(TERMS,
                prefillWeight * each.pendingTokens(),
                (long) prefillWeight * query.promptTokens(),
                (long) -prefillWeight * each.matchedBlocks() * query.blockSize(),
                (long) each.usedBlocks() * query.blockSize()));
        return ranking.byPrefix(ranking.lowest(query.draw()));
    }
}
