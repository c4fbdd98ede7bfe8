package dev.warmpath.router.prefix;

/** How many leading blocks of one prompt each worker holds. */
public final class PrefixMatch {

    private final VisibleWorkers workers;
    private final int[] blocks;

    /** @param blocks by ordinal; handed over, never written again */
    PrefixMatch(VisibleWorkers workers, int[] blocks) {
        this.workers = workers;
        this.blocks = blocks;
    }

    /** Leading blocks at this worker; 0 for one that was not in the index. */
    public int blocks(WorkerKeys worker) {
        int ordinal = workers.ordinalOf(worker);
        return ordinal < 0 ? 0 : blocks[ordinal];
    }
}
