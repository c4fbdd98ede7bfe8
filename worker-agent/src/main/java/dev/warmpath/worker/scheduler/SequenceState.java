package dev.warmpath.worker.scheduler;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;

/**
 * Where a sequence stands. The last three are final; the blocks are given back at once, or when the last step that
 * computes the sequence has settled.
 *
 * <pre>
 *   NEW --submit--> WAITING --admitted--> RUNNING --> Finished | Failed | Cancelled
 *                                         |     ^
 *                               preempted v     | admitted again
 *                                        PREEMPTED        (waiting ones may fail or be cancelled, too)
 * </pre>
 */
public sealed interface SequenceState {

    enum Alive implements SequenceState {
        /** Not submitted, or refused. */
        NEW,
        WAITING,
        /** Holds blocks. */
        RUNNING,
        /** Waits again, before those that came later, having given its blocks up to others. */
        PREEMPTED
    }

    record Finished(FinishReason reason) implements SequenceState {}

    record Failed(FailureReason reason, String message) implements SequenceState {}

    record Cancelled() implements SequenceState {}
}
