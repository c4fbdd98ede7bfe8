package dev.warmpath.router.routing.peers;

import dev.warmpath.router.routing.Candidate;
import dev.warmpath.router.routing.CandidateCost;
import dev.warmpath.router.routing.Choice;
import dev.warmpath.router.routing.PolicyName;
import dev.warmpath.router.routing.RouteQuery;
import dev.warmpath.router.routing.RouteReason;
import dev.warmpath.router.routing.RoutingPolicy;
import dev.warmpath.router.routing.Terms;
import java.util.LinkedHashMap;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Every turn of a conversation goes where its last one went; a new one to whoever has the fewest requests. It moves
 * only when its worker is gone, not healthy or has just failed the request, and then stays at the new one.
 *
 * <p>Keeps the last {@value #MAX_CONVERSATIONS} conversations, some 100 bytes each; the one that was silent longest
 * gives way. Each router has its own list.
 *
 * <p>Source: {@code sticky_least_loaded} of vllm-project/router (src/policies/sticky_least_loaded.rs of vllm-router
 * 0.1.17, November 2026), which forgets after two hours of silence and sends a new session to the fewest sessions that
 * it remembers, of equal ones by hash; and {@code session} of vllm-project/production-stack
 * (src/vllm_router/routers/routing_logic.py at a6c01db, 2026-08-05), which hashes a session's id. Their sessions have
 * an id in a header or the body; here a conversation is known by its beginning. Requests are counted in place of
 * sessions, since few conversations say when they end.
 */
public final class StickySession implements RoutingPolicy {

    static final int MAX_CONVERSATIONS = 65_536;

    private static final List<String> TERMS = List.of("requests", "elsewhere");
    /** More than any number of requests. */
    private static final long ELSEWHERE = 1L << 32;

    private final int maxConversations;
    /** Conversation to the id of its worker, the longest silent one first. */
    private final LinkedHashMap<Long, String> homes = new LinkedHashMap<>();

    public StickySession() {
        this(MAX_CONVERSATIONS);
    }

    StickySession(int maxConversations) {
        this.maxConversations = maxConversations;
    }

    @Override
    public PolicyName name() {
        return PolicyName.STICKY_SESSION;
    }

    @Override
    public Choice choose(RouteQuery query, List<Candidate> candidates) {
        @Nullable String home = home(query);
        var ranking = Ranking.bySum(candidates, each -> new Terms(TERMS,
                each.requests(), home == null || each.workerId().equals(home) ? 0 : ELSEWHERE));
        CandidateCost lowest = ranking.lowest();
        return lowest.candidate().workerId().equals(home)
                ? ranking.because(RouteReason.AFFINITY, lowest) : ranking.byLoad(lowest);
    }

    private synchronized @Nullable String home(RouteQuery query) {
        return homes.get(query.conversation());
    }

    @Override
    public synchronized void chose(RouteQuery query, Candidate chosen) {
        homes.remove(query.conversation());
        homes.put(query.conversation(), chosen.workerId());
        if (homes.size() > maxConversations) {
            homes.pollFirstEntry();
        }
    }
}
