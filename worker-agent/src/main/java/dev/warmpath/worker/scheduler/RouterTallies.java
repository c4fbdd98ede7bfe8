package dev.warmpath.worker.scheduler;

import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.protocol.fleet.RouterId;
import dev.warmpath.protocol.fleet.RouterLoad;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Whose the alive sequences are. Each knows the tally of its router from submission on, so counting is a walk over them
 * and looks nothing up; a tally that counts nobody is forgotten. Allocates when a router's first sequence comes, and
 * when the result is another than before, which while tokens are drawn it is not.
 */
final class RouterTallies {

    /** One router's, as of the last count. */
    static final class Tally {
        private final RouterId router;
        private int requests;
        private int pendingRequests;
        private long pendingTokens;

        private Tally(RouterId router) {
            this.router = router;
        }

        private boolean isTold(RouterLoad told) {
            return told.router().equals(router) && told.requests() == requests
                    && told.pendingRequests() == pendingRequests && told.pendingPromptTokens() == pendingTokens;
        }
    }

    private final ArrayList<Tally> tallies = new ArrayList<>();
    private AliveLoad last = AliveLoad.NONE;
    private int pendingRequests;
    private long pendingTokens;

    /** @return null if the router does not say who it is, or more are here than are told apart */
    @Nullable Tally tally(@Nullable RouterId router) {
        if (router == null) {
            return null;
        }
        for (Tally each : tallies) {
            if (each.router.equals(router)) {
                return each;
            }
        }
        if (tallies.size() == Heartbeat.MAX_ROUTERS) {
            return null;
        }
        var tally = new Tally(router);
        tallies.add(tally);
        return tally;
    }

    /** @return the last result if nothing has changed */
    AliveLoad count(List<Sequence> running, WaitingQueue waiting) {
        begin();
        for (int i = 0; i < running.size(); i++) {
            add(running.get(i));
        }
        for (int i = 0; i < waiting.size(); i++) {
            add(waiting.get(i));
        }
        forgetEmptyOnes();
        if (!isAsBefore()) {
            List<RouterLoad> parts = new ArrayList<>(tallies.size());
            for (Tally each : tallies) {
                parts.add(new RouterLoad(each.router, each.requests, each.pendingRequests, each.pendingTokens));
            }
            last = new AliveLoad(pendingRequests, pendingTokens, List.copyOf(parts));
        }
        return last;
    }

    private void begin() {
        pendingRequests = 0;
        pendingTokens = 0;
        for (int i = 0; i < tallies.size(); i++) {
            Tally each = tallies.get(i);
            each.requests = 0;
            each.pendingRequests = 0;
            each.pendingTokens = 0;
        }
    }

    private void add(Sequence sequence) {
        int pending = sequence.completionTokens() == 0 ? 1 : 0;
        int tokens = sequence.pendingPromptTokens();
        pendingRequests += pending;
        pendingTokens += tokens;
        Tally tally = sequence.tally;
        if (tally != null) {
            tally.requests++;
            tally.pendingRequests += pending;
            tally.pendingTokens += tokens;
        }
    }

    private void forgetEmptyOnes() {
        for (int i = tallies.size() - 1; i >= 0; i--) {
            if (tallies.get(i).requests == 0) {
                tallies.remove(i);
            }
        }
    }

    private boolean isAsBefore() {
        if (pendingRequests != last.pendingRequests() || pendingTokens != last.pendingPromptTokens()
                || tallies.size() != last.routers().size()) {
            return false;
        }
        for (int i = 0; i < tallies.size(); i++) {
            if (!tallies.get(i).isTold(last.routers().get(i))) {
                return false;
            }
        }
        return true;
    }
}
