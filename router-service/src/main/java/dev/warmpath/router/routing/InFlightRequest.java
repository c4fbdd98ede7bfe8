package dev.warmpath.router.routing;

import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleet.HoldWatch;

/** A request's booking at its worker. Safe for use by several threads; every call after the first has no effect. */
public final class InFlightRequest implements AutoCloseable {

    private final RequestRouter router;
    private final FleetWorker worker;
    private final WorkerLedger.Entry entry;
    private final HoldWatch hold;

    InFlightRequest(RequestRouter router, FleetWorker worker, WorkerLedger.Entry entry) {
        this.router = router;
        this.worker = worker;
        this.entry = entry;
        this.hold = new HoldWatch(worker);
    }

    /** The prompt is computed: its tokens are pending no more. */
    public void firstToken() {
        router.firstToken(worker, entry, /* isTimed */ !hold.wasHeld());
    }

    /** The request is over, in whatever way. */
    @Override
    public void close() {
        router.close(worker, entry);
    }
}
