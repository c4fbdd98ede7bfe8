package dev.warmpath.worker.scheduler;

/** The batches that are computed, oldest first, and the objects that take turns in being one. */
final class Flight {

    private final ScheduledBatch[] batches;
    /** Of the oldest in flight; the one to be written next is {@code count} behind it. */
    private int oldest;
    private int count;

    Flight(SchedulerSettings settings) {
        batches = new ScheduledBatch[settings.maxBatchesInFlight()];
        for (int i = 0; i < batches.length; i++) {
            batches[i] = new ScheduledBatch(settings.maxSequences(), settings.steps());
        }
    }

    /** How many batches are neither settled nor failed. */
    int count() {
        return count;
    }

    boolean isEmpty() {
        return count == 0;
    }

    /** @param age 0 for the oldest, up to {@link #count()} - 1 */
    ScheduledBatch get(int age) {
        return batches[(oldest + age) % batches.length];
    }

    /**
     * The object for the next batch, emptied.
     *
     * @throws IllegalStateException if as many are in flight as may be
     */
    ScheduledBatch begin() {
        if (count == batches.length) {
            throw new IllegalStateException(count == 1
                    ? "a batch of " + get(0).size() + " sequences is neither settled nor failed"
                    : count + " batches are neither settled nor failed");
        }
        ScheduledBatch batch = get(count);
        batch.clear();
        return batch;
    }

    /** The batch that was begun last sets off. */
    void depart() {
        count++;
    }

    /** The oldest is back. */
    void land() {
        oldest = (oldest + 1) % batches.length;
        count--;
    }

    void requireOldest(ScheduledBatch batch) {
        if (count == 0 || batch != get(0)) {
            throw new IllegalStateException("the batch is not the oldest one in flight");
        }
    }
}
