package dev.warmpath.protocol.fleet;

/**
 * A worker's state, once a second. Keeps its lease alive and lets the router find a lost tail of the event stream.
 *
 * @param workerId             who
 * @param epoch                which life of it
 * @param running              requests being computed
 * @param waiting              requests queued behind them
 * @param freeBlocks           blocks no running request holds; cached ones among them
 * @param pendingPromptTokens  prompt tokens of running and waiting requests that still have to be computed
 * @param lastSequence         number of the last event batch
 * @param setSize              announced keys after that batch
 * @param setDigest            digest of them
 */
public record Heartbeat(
        String workerId,
        long epoch,
        int running,
        int waiting,
        int freeBlocks,
        long pendingPromptTokens,
        long lastSequence,
        int setSize,
        long setDigest) {}
