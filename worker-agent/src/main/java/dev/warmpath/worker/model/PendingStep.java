package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.Completion;

/**
 * A step on its way. @param sampledCount tokens it will bring
 */
public record PendingStep(Completion completion, int sampledCount) {
}
