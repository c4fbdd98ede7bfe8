package dev.warmpath.worker;

import dev.warmpath.worker.model.ModelConfig;

/**
 * What each worker of a fleet on one machine is started with.
 *
 * @param workers     how many of them
 * @param heapBytes  most that the heap of each may grow to
 * @param youngBytes most of that for new objects
 * @param neededBytes what each process will take at least, once its cache is full
 * @param sharedBytes what all of them take together, beside that
 * @param kv         with the memory of each one's cache, unless that is given as blocks
 * @param config     with the context that they serve
 * @param cache      the pool of each
 */
record MemoryPlan(int workers, long heapBytes, long youngBytes, long neededBytes, long sharedBytes, KvProperties kv,
        ModelConfig config, CachePlan cache) {
}
