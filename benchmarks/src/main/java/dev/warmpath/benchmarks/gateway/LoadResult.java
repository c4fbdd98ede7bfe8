package dev.warmpath.benchmarks.gateway;

/**
 * What the clients saw, as {@code load} prints it. Requests and tokens are those of the measured time; errors and
 * refusals (503) of the whole run.
 *
 * @param bodyBytes  mean of the requests
 * @param firstP50Ms from a request's begin to its first text; median
 * @param gapP50Ms   from one piece of text to the next; median
 * @param firstError what was wrong first; empty if nothing was
 */
record LoadResult(long requests, double seconds, long tokens, long bodyBytes, long errors, long refused,
        double firstP50Ms, double firstP99Ms, double gapP50Ms, double gapP99Ms, double gapMaxMs, String firstError) {

    double requestsPerSecond() {
        return requests / seconds;
    }
}
