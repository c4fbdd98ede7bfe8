package dev.warmpath.router.fleet;

/**
 * Whether a worker was held, to be stepped by hand, while somebody timed it: how long it took is then no measure of it.
 * As its heartbeats tell, so a hold that comes and goes between two of them is not noticed. One thread at a time.
 */
public final class HoldWatch {

    private final FleetWorker worker;
    private long heldHeartbeats;
    private boolean heldAtStart;

    /** Watches from now on. */
    public HoldWatch(FleetWorker worker) {
        this.worker = worker;
        restart();
    }

    /** Watches from now on: what was before does not count any more. */
    public void restart() {
        heldHeartbeats = worker.heldHeartbeats();
        heldAtStart = worker.isHeld();
    }

    public boolean wasHeld() {
        return heldAtStart || worker.heldHeartbeats() != heldHeartbeats;
    }
}
