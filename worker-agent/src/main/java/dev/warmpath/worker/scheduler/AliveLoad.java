package dev.warmpath.worker.scheduler;

import dev.warmpath.protocol.fleet.RouterLoad;
import java.util.List;

/**
 * What the running and waiting sequences still need.
 *
 * @param pendingRequests     those without a first token
 * @param pendingPromptTokens prompt tokens that still have to be computed, see {@link Scheduler#load}
 * @param routers             each router's part, in the order in which they came; sequences of routers that do not say
 *                            who they are, and of more than are told apart, are in none
 */
public record AliveLoad(int pendingRequests, long pendingPromptTokens, List<RouterLoad> routers) {

    static final AliveLoad NONE = new AliveLoad(0, 0, List.of());
}
