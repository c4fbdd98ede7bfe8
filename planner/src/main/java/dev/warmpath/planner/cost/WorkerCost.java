package dev.warmpath.planner.cost;

import dev.warmpath.planner.simulation.ServiceModel;

/**
 * What a worker tells of itself.
 *
 * @param worker   its id, or the address that was asked
 * @param revision of its model, empty where it is not told
 * @param service  without the pair term, which workers' fits do not have; its parts are not numbers until the worker
 *                 has measured enough steps
 * @param blocks   of its pool; 0 if it is not told
 */
public record WorkerCost(String worker, String revision, ServiceModel service, long blocks) {

    /** Whether it has measured enough. */
    public boolean isMeasured() {
        return Double.isFinite(service.stepMicros()) && Double.isFinite(service.promptTokenMicros())
                && service.promptTokenMicros() > 0 && Double.isFinite(service.rowMicros())
                && Double.isFinite(service.contextTokenNanos());
    }
}
