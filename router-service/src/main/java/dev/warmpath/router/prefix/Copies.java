package dev.warmpath.router.prefix;

import java.util.BitSet;
import java.util.LinkedHashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Which workers are in the index, which {@link Copy} of each matches see, and which ordinals are given away.
 *
 * <pre>
 *   free --newCopy--> being loaded --show--> seen --show, giveUp, remove--> retired --forget--> free
 *                           '-------------- giveUp ----------------------------^
 * </pre>
 * An ordinal that were given away twice would mix two workers' keys: hence a copy is retired once, however many say so.
 * Each step is one, under a lock that is held for a walk over the workers at most and never while keys change: nobody
 * who joins or removes a worker waits for a load.
 */
final class Copies {

    private volatile VisibleWorkers visible = new VisibleWorkers(new @Nullable WorkerKeys[0]);
    private final Set<WorkerKeys> workers = new LinkedHashSet<>();
    private final BitSet usedOrdinals = new BitSet();
    private final BitSet retiredOrdinals = new BitSet();

    /** What matches see; replaced as a whole, without a lock for who asks. */
    VisibleWorkers visible() {
        return visible;
    }

    synchronized void add(WorkerKeys worker) {
        workers.add(worker);
    }

    synchronized void remove(WorkerKeys worker) {
        show(worker, null);
        workers.remove(worker);
    }

    /** An empty copy that no match sees. */
    synchronized Copy newCopy() {
        int ordinal = usedOrdinals.nextClearBit(0);
        usedOrdinals.set(ordinal);
        return new Copy(ordinal);
    }

    /** What matches see of a worker from now on; null: nothing. What they saw before is retired. */
    synchronized void show(WorkerKeys worker, @Nullable Copy copy) {
        if (copy != null && !workers.contains(worker)) {           // removed while its copy was loaded
            retire(copy);
            return;
        }
        Copy before = worker.visible();
        if (copy != before) {
            if (before != null) {
                retire(before);
            }
            worker.setVisible(copy);
            publish();
        }
    }

    /** The copy is of no use: neither it nor what matches see of its worker stays. */
    synchronized void giveUp(WorkerKeys worker, Copy copy) {
        show(worker, null);
        retire(copy);
    }

    private void retire(Copy copy) {
        if (!copy.isRetired()) {
            copy.retire();
            retiredOrdinals.set(copy.ordinal());
        }
    }

    private void publish() {
        var byOrdinal = new @Nullable WorkerKeys[usedOrdinals.length()];
        for (WorkerKeys worker : workers) {
            Copy copy = worker.visible();
            if (copy != null) {
                byOrdinal[copy.ordinal()] = worker;
            }
        }
        visible = new VisibleWorkers(byOrdinal);
    }

    /** Ordinals that no match sees and whose keys are still there; nothing is added under them any more. */
    synchronized BitSet retired() {
        return (BitSet) retiredOrdinals.clone();
    }

    synchronized int retiredCount() {
        return retiredOrdinals.cardinality();
    }

    /** Their keys are gone; the ordinals may be given away again. */
    synchronized void forget(BitSet swept) {
        retiredOrdinals.andNot(swept);
        usedOrdinals.andNot(swept);
    }

    /** One more than any ordinal. */
    synchronized int ordinalLimit() {
        return usedOrdinals.length();
    }

    /**
     * @param totals what is found under each ordinal, while nothing is loaded
     * @throws IllegalStateException unless each seen copy has what it counts, and an ordinal not given away nothing
     */
    synchronized void checkIntegrity(WorkerKeys.Totals[] totals) {
        var accounted = (BitSet) retiredOrdinals.clone();
        for (WorkerKeys worker : workers) {
            Copy copy = worker.visible();
            if (copy != null) {
                var counted = new WorkerKeys.Totals(copy.size(), copy.digest());
                if (accounted.get(copy.ordinal()) || !counted.equals(totals[copy.ordinal()])) {
                    throw new IllegalStateException("ordinal " + copy.ordinal() + " counts " + counted + " and has "
                            + totals[copy.ordinal()] + ", or it is somebody else's too");
                }
                accounted.set(copy.ordinal());
            }
        }
        if (!accounted.equals(usedOrdinals)) {
            throw new IllegalStateException("ordinals " + usedOrdinals + " are used, " + accounted + " accounted for");
        }
        for (int ordinal = 0; ordinal < totals.length; ordinal++) {
            if (!usedOrdinals.get(ordinal) && totals[ordinal].size() > 0) {
                throw new IllegalStateException("ordinal " + ordinal + " is free and has " + totals[ordinal]);
            }
        }
    }
}
