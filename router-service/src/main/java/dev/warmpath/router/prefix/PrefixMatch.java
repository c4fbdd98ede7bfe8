package dev.warmpath.router.prefix;

import org.jspecify.annotations.Nullable;

/** How many leading blocks of one prompt each worker holds. Refers to sets that the index keeps anyway: small. */
public final class PrefixMatch {

    /** Of a prompt whose first block nobody holds. */
    static final PrefixMatch NOTHING = new PrefixMatch(
            new VisibleWorkers(new @Nullable WorkerKeys[0]), HolderSteps.NONE, HolderSteps.NONE);

    private final VisibleWorkers workers;
    private final HolderSteps closed;
    private final HolderSteps walked;

    /** @param closed of the prefix-closed ones, {@code walked} of all others */
    PrefixMatch(VisibleWorkers workers, HolderSteps closed, HolderSteps walked) {
        this.workers = workers;
        this.closed = closed;
        this.walked = walked;
    }

    /** Leading blocks at this worker; 0 for one that was not in the index. */
    public int blocks(WorkerKeys worker) {
        if (this == NOTHING) {
            return 0;
        }
        int ordinal = workers.ordinalOf(worker);
        return ordinal < 0 ? 0 : (worker.isPrefixClosed() ? closed : walked).blocks(ordinal);
    }

    // ---- for MatchedBlocks, which reads them for all workers at once

    VisibleWorkers workers() {
        return workers;
    }

    HolderSteps closed() {
        return closed;
    }

    HolderSteps walked() {
        return walked;
    }
}
