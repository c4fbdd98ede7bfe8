package dev.warmpath.router.prefix;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Which ordinals count, and for whom. Never changed: a worker that comes, goes or is reloaded makes another one. */
final class VisibleWorkers {

    private final @Nullable WorkerKeys[] byOrdinal;
    private final long[] closed;
    private final long[] walked;

    /** @param byOrdinal handed over, null where no worker is visible */
    VisibleWorkers(@Nullable WorkerKeys[] byOrdinal) {
        this.byOrdinal = byOrdinal;
        int words = (byOrdinal.length + Long.SIZE - 1) / Long.SIZE;
        closed = new long[words];
        walked = new long[words];
        for (int ordinal = 0; ordinal < byOrdinal.length; ordinal++) {
            WorkerKeys worker = byOrdinal[ordinal];
            if (worker != null) {
                (worker.isPrefixClosed() ? closed : walked)[ordinal / Long.SIZE] |= 1L << ordinal;
            }
        }
    }

    /** The prefix-closed ones; not to be written. */
    long[] closed() {
        return closed;
    }

    /** All others; not to be written. */
    long[] walked() {
        return walked;
    }

    /** -1 if the worker is not among them. */
    int ordinalOf(WorkerKeys worker) {
        Copy likely = worker.visible();                            // unless it was reloaded a moment ago
        if (likely != null && likely.ordinal() < byOrdinal.length && byOrdinal[likely.ordinal()] == worker) {
            return likely.ordinal();
        }
        for (int ordinal = 0; ordinal < byOrdinal.length; ordinal++) {
            if (byOrdinal[ordinal] == worker) {
                return ordinal;
            }
        }
        return -1;
    }

    /** All of them. */
    List<WorkerKeys> workers() {
        return Arrays.stream(byOrdinal).filter(Objects::nonNull).toList();
    }

    /** Those whose bit is set. */
    List<WorkerKeys> among(long[] ordinals) {
        List<WorkerKeys> workers = new ArrayList<>();
        for (int ordinal = 0; ordinal < byOrdinal.length; ordinal++) {
            WorkerKeys worker = byOrdinal[ordinal];
            if (worker != null && HolderSets.isIn(ordinals, ordinal)) {
                workers.add(worker);
            }
        }
        return workers;
    }
}
