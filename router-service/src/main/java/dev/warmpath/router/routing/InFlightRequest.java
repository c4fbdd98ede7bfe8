package dev.warmpath.router.routing;

import dev.warmpath.router.fleet.FleetWorker;

/** A request's booking at its worker. Safe for use by several threads; every call after the first has no effect. */
public final class InFlightRequest implements AutoCloseable {

    private final RequestRouter router;
    private final FleetWorker worker;
    private final WorkerLedger.Entry entry;

    InFlightRequest(RequestRouter router, FleetWorker worker, WorkerLedger.Entry entry) {
        this.router = router;
        this.worker = worker;
        this.entry = entry;
    }

    /** The prompt is computed: its tokens are pending no more. */
    public void firstToken() {
        router.firstToken(worker, entry);
    }

    /** The request is over, in whatever way. */
    @Override
    public void close() {
        router.close(worker, entry);
    }
}
