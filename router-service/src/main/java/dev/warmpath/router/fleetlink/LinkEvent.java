package dev.warmpath.router.fleetlink;

import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.router.fleetlink.stream.StreamSignal;
import org.jspecify.annotations.Nullable;

/** What has happened on a worker's link, to be told to its {@link Follower}. */
sealed interface LinkEvent {

    /** The link begins, or begins again after a failure of the router's own. */
    record Begun() implements LinkEvent {}

    /** A turn by the log: its next batch, or null if none came in time. */
    record LogTurn(@Nullable KvEventBatch batch) implements LinkEvent {}

    /** A pause is over. */
    record Paused() implements LinkEvent {}

    /** The worker has been asked for its own stream; signals follow. */
    record StreamOpened() implements LinkEvent {}

    /** What came of the worker's own stream. */
    record StreamRead(StreamSignal signal) implements LinkEvent {}

    /** A batch was applied to the copy, or refused by it; fleet and meters know. */
    record Applied() implements LinkEvent {}
}
