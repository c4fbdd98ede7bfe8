package dev.warmpath.worker.routerlink;

import dev.warmpath.protocol.fleet.RouterLoad;
import dev.warmpath.protocol.fleet.StepCost;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How busy the worker is, for its heartbeat.
 *
 * @param running             requests being computed
 * @param waiting             requests queued behind them
 * @param freeBlocks          blocks that no running request holds; cached ones among them
 * @param pendingPromptTokens prompt tokens of running and waiting requests that still have to be computed, what is
 *                            known to be cached left out
 * @param stepAgeMillis       how long the device step that is running has been running; 0 while none is
 * @param hanging             true while that is longer than it may be
 * @param pendingRequests     of the running and waiting requests, those without a first token
 * @param routers             each router's part
 * @param contextTokens       tokens of all of them, drawn ones among them
 * @param stepCost            what its steps took lately, or null
 * @param held                true while somebody holds the engine, to step it by hand
 * @param news                is another number than before if there is something that routers should hear soon
 */
public record WorkerLoad(int running, int waiting, int freeBlocks, long pendingPromptTokens, long stepAgeMillis,
        boolean hanging, int pendingRequests, List<RouterLoad> routers, long contextTokens,
        @Nullable StepCost stepCost, boolean held, long news) {}
