package dev.warmpath.router.fleet;

import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.protocol.fleet.RefusalReason;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.router.fleet.HeartbeatOutcome.Refused;
import org.jspecify.annotations.Nullable;

/**
 * Whether a heartbeat can be true of the worker that registered so. Requests are placed by sums of these counts: one
 * that is too large would overflow and make its worker look like the best.
 */
final class HeartbeatCheck {

    /** Running and waiting. How many may wait is a worker's own setting, which it does not tell. */
    private static final int MAX_REQUESTS = 1 << 20;

    private HeartbeatCheck() {}

    /** The first count that is too large, with its limit, or null. */
    static @Nullable Refused refusal(Heartbeat heartbeat, Registration worker) {
        long requests = (long) heartbeat.running() + heartbeat.waiting();
        if (requests > MAX_REQUESTS) {
            return above("running and waiting", requests, MAX_REQUESTS);
        }
        if (heartbeat.freeBlocks() > worker.blockCount()) {
            return above("freeBlocks", heartbeat.freeBlocks(), worker.blockCount());
        }
        long mostTokens = requests * worker.model().contextLength();
        if (heartbeat.pendingPromptTokens() > mostTokens) {
            return above("pendingPromptTokens", heartbeat.pendingPromptTokens(), mostTokens);
        }
        return heartbeat.contextTokens() > mostTokens
                ? above("contextTokens", heartbeat.contextTokens(), mostTokens) : null;
    }

    private static Refused above(String what, long value, long limit) {
        return new Refused(RefusalReason.INVALID, what + " " + value + " is above " + limit);
    }
}
