package dev.warmpath.worker.routerlink;

/**
 * How busy the worker is, for its heartbeat.
 *
 * @param running             requests being computed
 * @param waiting             requests queued behind them
 * @param freeBlocks          blocks that no running request holds; cached ones among them
 * @param pendingPromptTokens prompt tokens of running and waiting requests that still have to be computed
 */
public record WorkerLoad(int running, int waiting, int freeBlocks, long pendingPromptTokens) {}
