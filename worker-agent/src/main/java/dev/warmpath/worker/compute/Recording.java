package dev.warmpath.worker.compute;

/**
 * Names operations that a model enqueues step after step, see {@link ComputeBackend#repeat}. Equal only to itself: a
 * model makes one for each sequence of operations that it repeats, and keeps it.
 */
public final class Recording {
}
