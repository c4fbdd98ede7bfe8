package dev.warmpath.worker;

import dev.warmpath.worker.engine.EngineSnapshot;
import dev.warmpath.worker.foreign.generate.ForeignEngine;
import dev.warmpath.worker.foreign.generate.ForeignLoad;
import dev.warmpath.worker.routerlink.WorkerLoad;

/** @param blockCount of the engine's cache, or as many as it is taken to have */
record EngineBeside(ForeignEngine engine, int blockCount) implements WorkerEngine {

    /** It was found answering. */
    @Override
    public void prepare() {}

    @Override
    public WorkerLoad load() {
        ForeignLoad now = engine.load();
        EngineSnapshot.Load load = now.load();
        int freeBlocks = now.freeBlocks() == ForeignLoad.NOT_KNOWN ? blockCount
                : Math.min(now.freeBlocks(), blockCount);
        return new WorkerLoad(load.running(), load.waiting(), freeBlocks, load.pendingPromptTokens(),
                /* stepAgeMillis */ 0, /* hanging */ !now.answers(), load.pendingRequests(), load.routers(),
                load.contextTokens(), /* stepCost */ null, /* held */ false, load.news());
    }

    @Override
    public void endHolds() {
        // nobody can
    }

    @Override
    public void close() {
        engine.close();
    }
}
