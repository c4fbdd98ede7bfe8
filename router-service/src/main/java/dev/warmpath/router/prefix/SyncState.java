package dev.warmpath.router.prefix;

/** How far a copy of a worker's keys is in sync with what the worker says about itself in a heartbeat. */
public sealed interface SyncState {

    /** The copy is as the worker said, or further: a heartbeat may be older than the last batch. */
    record InStep() implements SyncState {}

    /** Batches that the worker has published are not in the copy; for an empty copy the snapshot counts as one. */
    record Behind(long batches) implements SyncState {}

    /** Nothing is missing, yet the copy differs from the worker's set: it needs a snapshot. */
    record Drift(long sequence, int announcedSize, long announcedDigest, int size, long digest) implements SyncState {}
}
