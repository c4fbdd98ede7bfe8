package dev.warmpath.worker.compute;

/**
 * Consecutive rows of a weight that come in one format.
 * @param count 0 and above
 */
public record StoredRows(WeightFormat format, int count) {

    public StoredRows {
        if (count < 0) {
            throw new IllegalArgumentException(count + " rows of " + format);
        }
    }
}
