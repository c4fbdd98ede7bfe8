package dev.warmpath.worker.foreign.generate;

/**
 * What an engine's metrics say of its load.
 *
 * @param running    requests being computed, whoever brought them
 * @param waiting    requests queued behind them
 * @param freeBlocks of its cache, or {@link ForeignLoad#NOT_KNOWN}
 */
record EngineLoad(int running, int waiting, int freeBlocks) {

    static final EngineLoad NOT_SEEN = new EngineLoad(0, 0, ForeignLoad.NOT_KNOWN);
}
