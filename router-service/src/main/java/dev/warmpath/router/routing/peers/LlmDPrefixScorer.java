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
 * A weighted sum of three scores from 0 to 1, the highest wins, of equal ones any:
 * <pre>
 * 2 x leading blocks that are held / full blocks of the prompt
 * 1 x share of the pool's blocks that no request holds
 * 1 x (longest queue - queue) / (longest - shortest queue); 1 if all are as long
 * </pre>
 * The cost is what is missing of the full score of 4, in millionths.
 *
 * <p>Source: llm-d/llm-d-router at ebab687 (2026-08-22): weights 2 / 1 / 1 of the sample
 * {@code deploy/config/epp-precise-prefix-cache-config.yaml}; under {@code pkg/epp/framework/plugins/scheduling}
 * {@code scorer/prefix/plugin.go} over {@code precise-prefix-cache-producer} (together the plug-in once named
 * {@code precise-prefix-cache-scorer}), {@code scorer/kvcacheutilization/kvcache_utilization.go},
 * {@code scorer/queuedepth/queue.go} and {@code picker/maxscore/picker.go}. Its queue is what the engine reports as
 * waiting; here it is what a worker has beyond the sequences that it computes at once. Blocks of slower tiers, which it
 * counts in part, are not known here.
 */
public final class LlmDPrefixScorer implements RoutingPolicy {

    private static final List<String> TERMS = List.of("prefix_missing", "kv_used", "queue");
    private static final double PREFIX_WEIGHT = 2;
    private static final double KV_WEIGHT = 1;
    private static final double QUEUE_WEIGHT = 1;
    private static final double MILLIONTHS = 1e6;

    @Override
    public PolicyName name() {
        return PolicyName.LLM_D_PREFIX_SCORER;
    }

    @Override
    public Choice choose(RouteQuery query, List<Candidate> candidates) {
        List<Candidate> open = CandidateCost.openCandidates(candidates);
        int longest = open.stream().mapToInt(LlmDPrefixScorer::queue).max().orElse(0);
        int shortest = open.stream().mapToInt(LlmDPrefixScorer::queue).min().orElse(0);
        var ranking = Ranking.bySum(candidates, each -> new Terms(TERMS,
                missing(PREFIX_WEIGHT, matchedShare(query, each)),
                missing(KV_WEIGHT, 1 - (double) each.usedBlocks() / each.blockCount()),
                missing(QUEUE_WEIGHT, longest == shortest ? 1
                        : (double) (longest - queue(each)) / (longest - shortest))));
        return ranking.byPrefix(ranking.lowest(query.draw()));
    }

    private static int queue(Candidate candidate) {
        return Math.max(0, candidate.requests() - candidate.maxSequences());
    }

    /** Of the prompt's full blocks, 0 to 1. */
    static double matchedShare(RouteQuery query, Candidate candidate) {
        int blocks = query.promptTokens() / query.blockSize();
        return blocks == 0 ? 0 : (double) candidate.matchedBlocks() / blocks;
    }

    private static long missing(double weight, double score) {
        return Math.round(MILLIONTHS * weight * (1 - Math.clamp(score, 0.0, 1.0)));
    }
}
