package dev.warmpath.router.fleetlink;

/** What the end of a worker's own event stream says about the worker. */
enum StreamEnd {
    /** This life of the worker is over, or somebody else answers at its address. */
    GONE,
    /** The worker is there, and what it sends is no event stream. */
    UNREADABLE,
    /** Nothing yet: connections break. */
    BROKEN
}
