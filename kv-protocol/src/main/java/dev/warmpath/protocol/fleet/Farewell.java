package dev.warmpath.protocol.fleet;

/**
 * A worker's last word to each router before it drains: it takes no requests any more. Without it a router that follows
 * the worker by a log would go on sending requests until a heartbeat is missed.
 *
 * @param workerId who leaves
 * @param epoch    which life of it; another one stays
 */
public record Farewell(String workerId, long epoch) {}
