package dev.warmpath.planner.simulation;

/**
 * What clients and workers saw.
 *
 * @param isOverloaded      the run was given up, see {@link SimulatedFleet#run}: times are of its beginning only
 * @param hitRate           full blocks of prompts that were found cached, as a share of all; not a number without any
 * @param firstToken        from the request to its first token, of those that had one
 * @param betweenTokens     of each request whose answer has more than one token, from one to the next on average
 * @param refused           requests that no worker could ever hold: longer than its pool
 * @param maxOverMeanTokens computed tokens of the worker with most, over those of the average one
 * @param busyShare         of the workers' time in which a step ran
 * @param preemptions       requests that lost their blocks to others and were computed again
 * @param seconds           from the first request to the last answer's end
 */
public record Report(boolean isOverloaded, double hitRate, Times firstToken, Times betweenTokens, long refused,
        double maxOverMeanTokens, double busyShare, long preemptions, double seconds) {

    /** That had their first token. */
    public long requests() {
        return firstToken.count();
    }

    public double meanMillis() {
        return firstToken.meanMillis();
    }

    /** @param share 0.5 is the median. @return not a number where there was no first token */
    public double quantileMillis(double share) {
        return firstToken.quantileMillis(share);
    }
}
