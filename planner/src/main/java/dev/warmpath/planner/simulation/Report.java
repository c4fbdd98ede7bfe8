package dev.warmpath.planner.simulation;

import java.util.Arrays;

/**
 * What clients and workers saw.
 *
 * @param isOverloaded      the run was given up, see {@link SimulatedFleet#run}: times are of its beginning only
 * @param requests          that had their first token
 * @param hitRate           full blocks of prompts that were found cached, as a share of all
 * @param firstTokenMillis  from the request to its first token, in order of size
 * @param maxOverMeanTokens computed tokens of the worker with most, over those of the average one
 * @param busyShare         of the workers' time in which a step ran
 * @param seconds           from the first request to the last answer's end
 */
public record Report(boolean isOverloaded, int requests, double hitRate, double[] firstTokenMillis,
        double maxOverMeanTokens, double busyShare, double seconds) {

    public double meanMillis() {
        return Arrays.stream(firstTokenMillis).average().orElse(Double.NaN);
    }

    /** @param share 0.5 is the median. @return not a number where there was no first token */
    public double quantileMillis(double share) {
        return firstTokenMillis.length == 0 ? Double.NaN : firstTokenMillis[(int) Math.min(firstTokenMillis.length - 1L,
                (long) (share * firstTokenMillis.length))];
    }
}
