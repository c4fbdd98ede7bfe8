package dev.warmpath.worker.foreign.generate;

import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.protocol.fleet.RouterId;
import dev.warmpath.protocol.fleet.RouterLoad;
import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.worker.engine.EngineSnapshot;
import dev.warmpath.worker.engine.RefusedException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Those that were taken and have not ended, and what they are to routers. Safe on any thread. */
final class AliveGenerations {

    private final int most;
    private final Set<ForeignGeneration> alive = new HashSet<>();
    private long news;
    private boolean closed;

    /** @param most at a time */
    AliveGenerations(int most) {
        this.most = most;
    }

    /** One router's part. */
    private static final class Tally {
        private int requests;
        private int pendingRequests;
        private int queued;
        private long pendingTokens;

        private void count(ForeignGeneration one) {
            requests++;
            pendingRequests += one.isPending() ? 1 : 0;
            queued += one.isQueued() ? 1 : 0;
            pendingTokens += one.pendingTokens();
        }
    }

    /** Whether so many more would be taken now. @throws RefusedException if not */
    synchronized void requireRoom(int more) {
        if (closed) {
            throw new RefusedException(FailureReason.SHUTTING_DOWN, "this worker is going away");
        }
        if (more > most) {
            throw new RefusedException(FailureReason.INVALID_REQUEST, more + " choices, this worker takes " + most
                    + " generations at a time");
        }
        if (alive.size() + more > most) {
            throw new RefusedException(FailureReason.QUEUE_FULL, alive.size() + " of " + most
                    + " generations are alive, " + more + " more were to come");
        }
    }

    /** All or none. @throws RefusedException if there is no room */
    synchronized void enter(List<ForeignGeneration> some) {
        requireRoom(some.size());
        alive.addAll(some);
        news++;
    }

    synchronized void leave(ForeignGeneration one) {
        alive.remove(one);
    }

    synchronized void firstToken() {
        news++;
    }

    /** Those that do not wait here for their turn. */
    synchronized int atEngine() {
        return (int) alive.stream().filter(one -> !one.isQueued()).count();
    }

    /** Takes no more. @return those that are left */
    synchronized List<ForeignGeneration> close() {
        closed = true;
        return List.copyOf(alive);
    }

    /**
     * @param others  requests at the engine that others have brought there, as it was last seen
     * @param waiting of all requests those that wait there, likewise
     */
    synchronized EngineSnapshot.Load load(int others, int waiting) {
        Map<RouterId, Tally> tallies = new LinkedHashMap<>();
        var all = new Tally();
        long contextTokens = 0;
        for (ForeignGeneration one : alive) {
            all.count(one);
            contextTokens += one.contextTokens();
            RouterId router = one.router();
            if (router != null && (tallies.containsKey(router) || tallies.size() < Heartbeat.MAX_ROUTERS)) {
                tallies.computeIfAbsent(router, _ -> new Tally()).count(one);
            }
        }
        List<RouterLoad> routers = new ArrayList<>(tallies.size());
        tallies.forEach((router, tally) ->
                routers.add(new RouterLoad(router, tally.requests, tally.pendingRequests, tally.pendingTokens)));
        int total = all.requests + others;
        int behind = Math.min(waiting + all.queued, all.pendingRequests + others);
        return new EngineSnapshot.Load(total - behind, behind, /* waitingForBlocks */ 0, all.pendingTokens,
                all.pendingRequests, routers, contextTokens, news);
    }
}
