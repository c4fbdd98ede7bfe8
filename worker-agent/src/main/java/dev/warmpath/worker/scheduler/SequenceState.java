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

    /** @param stopTokenId which of the request's stop tokens ended it, or {@link #NO_STOP_TOKEN}: end of sequence, length */
    record Finished(FinishReason reason, int stopTokenId) implements SequenceState {

        public static final int NO_STOP_TOKEN = -1;

        static Finished of(FinishReason reason) {
            return new Finished(reason, NO_STOP_TOKEN);
        }
    }

    record Failed(FailureReason reason, String message) implements SequenceState {}

    record Cancelled() implements SequenceState {}
}
