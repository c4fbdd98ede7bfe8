package dev.warmpath.router.routing;

import dev.warmpath.router.fleet.HoldWatch;

/** A request's booking at its worker. Safe for use by several threads; every call after the first has no effect. */
public final class InFlightRequest implements AutoCloseable {

    private final RequestRouter router;
    private final Booking booking;
    private final HoldWatch hold;

    InFlightRequest(RequestRouter router, Booking booking) {
        this.router = router;
        this.booking = booking;
        this.hold = new HoldWatch(booking.worker);
    }

    /** The prompt is computed: its tokens are pending no more. */
    public void firstToken() {
        router.firstToken(booking, /* isTimed */ !hold.wasHeld());
    }

    /** The request is over, in whatever way. */
    @Override
    public void close() {
        router.close(booking);
    }
}
