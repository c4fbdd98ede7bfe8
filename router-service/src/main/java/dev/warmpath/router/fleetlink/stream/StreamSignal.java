package dev.warmpath.router.fleetlink.stream;

import dev.warmpath.protocol.event.KvEventBatch;
import org.jspecify.annotations.Nullable;

/** What is read from a worker's own event stream. */
public sealed interface StreamSignal {

    /** A batch, or null for a sign of life. */
    record Frame(@Nullable KvEventBatch batch) implements StreamSignal {}

    /** No more comes. */
    record Ended(Reason reason, String why) implements StreamSignal {}

    /** What the end of the stream says about the worker. */
    enum Reason {
        /** This life of the worker is over, or somebody else answers at its address. */
        GONE,
        /** The worker is there, and what it sends is no event stream. */
        UNREADABLE,
        /** Nothing yet: connections break. */
        BROKEN
    }
}
