package dev.warmpath.worker.scheduler;

import dev.warmpath.protocol.generate.FailureReason;

/** What becomes of a request that asks to be computed. */
public sealed interface Submission {

    record Accepted() implements Submission {}

    /** @param message a sentence for the caller, naming the value and the limit */
    record Refused(FailureReason reason, String message) implements Submission {}
}
