package dev.warmpath.router.prefix;

import java.util.List;

/** How many leading blocks of one prompt each worker holds. */
public final class PrefixMatch {

    private final List<WorkerKeys> workers;
    private final int[] blocks;

    /** @param blocks by place in {@code workers}; handed over, never written again */
    PrefixMatch(List<WorkerKeys> workers, int[] blocks) {
        this.workers = workers;
        this.blocks = blocks;
    }

    /** Leading blocks at this worker; 0 for one that was not in the index. */
    public int blocks(WorkerKeys worker) {
        int place = workers.indexOf(worker);
        return place < 0 ? 0 : blocks[place];
    }
}
