package dev.warmpath.router.prefix;

/** What became of one batch. After everything but the first two the copy is empty and waits for a snapshot. */
public sealed interface ApplyOutcome {

    /** The copy now is as the worker's set was after this batch. */
    record Applied(long sequence) implements ApplyOutcome {}

    /** The batch was in the copy already; nothing changed. */
    record Repeated(long sequence) implements ApplyOutcome {}

    /** A batch is missing (a mark lacks its own), or there was no snapshot yet ({@code expected} 0). */
    record Gap(long expected, long actual) implements ApplyOutcome {}

    /** The batch comes from another worker, or from another life of this one. */
    record WrongSender(String expectedId, long expectedEpoch, String actualId, long actualEpoch)
            implements ApplyOutcome {}

    /** The batch is in order, but the copy differs from what the worker says it holds now. */
    record Drift(long sequence, int announcedSize, int size) implements ApplyOutcome {}

    /** The worker claims more blocks than its pool has. */
    record TooManyKeys(int blockCount, int size) implements ApplyOutcome {}
}
