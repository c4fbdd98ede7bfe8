package dev.warmpath.router.fleet;

/**
 * A revision as operators see it.
 *
 * @param model        its name
 * @param revision     its digest
 * @param workers      that serve it, whatever their state
 * @param readyWorkers of them those that take requests
 * @param capacity     requests that its ready and healthy workers compute at the same time
 * @param weight       the operator's: capacity counts so many times; 0 = drained
 * @param pinned       true: it alone gets the model's new requests
 * @param share        of the model's new requests, 0 to 1
 */
public record RevisionView(String model, String revision, int workers, int readyWorkers, double capacity,
        double weight, boolean pinned, double share) {}
