package dev.warmpath.router.fleet;

/** Which way a worker's event batches come to this router. */
public enum EventSource {
    /** By the log in Redis. */
    LOG,
    /** By the worker's own stream. */
    DIRECT
}
