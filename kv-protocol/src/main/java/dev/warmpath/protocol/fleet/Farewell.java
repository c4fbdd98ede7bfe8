package dev.warmpath.protocol.fleet;

/**
 * A worker's last word to each router, after it has drained: nothing is running here any more. Without it a router that
 * follows the worker by a log would keep it until a heartbeat is missed.
 *
 * @param workerId who leaves
 * @param epoch    which life of it; another one stays
 */
public record Farewell(String workerId, long epoch) {}
