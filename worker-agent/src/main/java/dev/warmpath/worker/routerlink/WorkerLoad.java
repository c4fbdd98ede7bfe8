package dev.warmpath.worker.routerlink;

/**
 * How busy the worker is, for its heartbeat.
 *
 * @param running             requests being computed
 * @param waiting             requests queued behind them
 * @param freeBlocks          blocks that no running request holds; cached ones among them
 * @param pendingPromptTokens prompt tokens of running and waiting requests that still have to be computed
 * @param stepAgeMillis       how long the device step that is running has been running; 0 while none is
 * @param hanging             true while that is longer than it may be
 */
public record WorkerLoad(int running, int waiting, int freeBlocks, long pendingPromptTokens, long stepAgeMillis,
        boolean hanging) {}
