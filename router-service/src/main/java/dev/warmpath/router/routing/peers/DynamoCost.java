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
 * cost = 1 x (pending prompt tokens + prompt tokens - tokens that are held)
 *      + tokens of the blocks that requests hold + tokens of this prompt's full blocks that are not among these
 * </pre>
 * In tokens, Dynamo's blocks times their size. A busy worker with long contexts is avoided even if it holds the prefix:
 * the blocks that decode weigh as much as those to be computed. A prefix that running requests hold counts twice: it is
 * neither computed nor laid down again.
 *
 * <p>Source: ai-dynamo/dynamo at 0d9c24a (dynamo-kv-router 1.6.1, October 2026), under {@code lib/kv-router/src}: the
 * cost and ties in {@code scheduling/selector/reference.rs}, the blocks in {@code sequences/prompt_registry.rs}, the
 * defaults in {@code scheduling/config.rs} (overlap credit 1, prefill scale 1, temperature 0). Its blocks in use are
 * those of prompts alone by default; here they are all that requests hold. Its credits for lower tiers and for shared
 * caches have nothing to go by here.
 */
public final class DynamoCost implements RoutingPolicy {

    private static final List<String> TERMS = List.of("pending", "prefill", "overlap", "active", "added");

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
                (long) each.usedBlocks() * query.blockSize(),
                (long) addedBlocks(query, each) * query.blockSize()));
        return ranking.byPrefix(ranking.lowest(query.draw()));
    }

    private static int addedBlocks(RouteQuery query, Candidate candidate) {
        return query.promptTokens() / query.blockSize() - candidate.sharedBlocks();
    }
}
