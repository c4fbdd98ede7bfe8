package dev.warmpath.router.fleet;

/**
 * How far the index's copy of a worker is behind what that worker says in its heartbeats.
 *
 * @param batches that it lacks, 1 if it is at odds with the worker; 0 while it is in step
 * @param nanos   for how long
 */
public record IndexAge(long batches, long nanos) {

    public static final IndexAge IN_STEP = new IndexAge(0, 0);

    public boolean isInStep() {
        return batches == 0;
    }
}
