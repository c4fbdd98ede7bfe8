package dev.warmpath.capacity;

/**
 * Hit rates of late, by windows of 1,000 queries: each window that is full counts as one, the running one by how full
 * it is, and so a burst neither hides what was before it nor is hidden. A query is a look-up of a full block.
 */
public final class HitRate {

    public static final int WINDOW = 1_000;

    private double sumOfRates;
    private long windows;
    private long queries;
    private long hits;

    /** Hits over all, 0 when there was no query. */
    public static double of(long hits, long queries) {
        return queries == 0 ? 0 : (double) hits / queries;
    }

    /** Look-ups of one request. @param found 0 to {@code lookedUp} */
    public void add(long found, long lookedUp) {
        if (found < 0 || found > lookedUp) {
            throw new IllegalArgumentException(found + " hits of " + lookedUp + " queries");
        }
        queries += lookedUp;
        hits += found;
        if (queries >= WINDOW) {
            sumOfRates += of(hits, queries);
            windows++;
            queries = 0;
            hits = 0;
        }
    }

    /** 0 when there was no query. */
    public double rate() {
        double running = (double) queries / WINDOW;
        double weight = windows + running;
        return weight == 0 ? 0 : (sumOfRates + of(hits, queries) * running) / weight;
    }
}
