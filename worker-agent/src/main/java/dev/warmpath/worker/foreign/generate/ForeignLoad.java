package dev.warmpath.worker.foreign.generate;

import dev.warmpath.worker.engine.EngineSnapshot;

/**
 * How busy the engine is: what this worker has there as of now, what else there is as of the last look.
 *
 * @param freeBlocks blocks that no running request holds, or {@link #NOT_KNOWN}
 * @param answers    false: it does not answer, and nothing new is taken
 */
public record ForeignLoad(EngineSnapshot.Load load, int freeBlocks, boolean answers) {

    public static final int NOT_KNOWN = -1;
}
