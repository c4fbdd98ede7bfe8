package dev.warmpath.worker.compute;

/** Names a submitted step until it has been awaited. */
public record Completion(long stepNumber) {
}
