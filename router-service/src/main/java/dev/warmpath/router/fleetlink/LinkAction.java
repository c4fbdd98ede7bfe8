package dev.warmpath.router.fleetlink;

import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.router.fleet.EventSource;
import dev.warmpath.router.metrics.RouterMetrics.ReloadSource;
import dev.warmpath.router.prefix.SyncState;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What a worker's link does next, as its {@link Follower} says. Each brings one {@link LinkEvent}. */
sealed interface LinkAction {

    /** Waits so long for the next batch of the log: {@link LinkEvent.LogTurn}. Leaves the worker's own stream. */
    record ReadLog(Duration patience) implements LinkAction {}

    /** Does nothing for so long: {@link LinkEvent.Paused}. */
    record Pause(Duration pause) implements LinkAction {}

    /** Asks the worker for its own stream, after a pause: {@link LinkEvent.StreamOpened}. Leaves the one before. */
    record OpenStream(Duration pause) implements LinkAction {}

    /** Waits for what comes next of it: {@link LinkEvent.StreamRead}. */
    record ReadStream() implements LinkAction {}

    /** Applies the batch to the copy: {@link LinkEvent.Applied}. @param source where it comes from */
    record Apply(KvEventBatch batch, ReloadSource source) implements LinkAction {}

    /** One thing to do, after the news before it has been told, in order. */
    record Step(List<News> news, LinkAction action) {}

    /** What the fleet, the meters and the log of this process are told. */
    sealed interface News {

        /** Batches come this way now. @param why null if it needs no word */
        record Followed(EventSource by, @Nullable String why) implements News {}

        /** A heartbeat shows that nothing is missing, and yet the copy is another one. */
        record Drifted(SyncState.Drift drift) implements News {}

        /** An attempt to read the worker's own stream has ended. @param source what was wanted of it */
        record StreamEnded(ReloadSource source, String why) implements News {}

        /** For operators: the worker's own streams do not last. @param problem null: they do, or are not needed */
        record StreamProblem(@Nullable String problem) implements News {}

        /** The worker's events cannot be used, whatever road they take. */
        record Unreadable(String why) implements News {}

        /** This life of the worker is over. */
        record Gone(String why) implements News {}

        /** Nothing has been heard of the worker for so long: somebody should ask its address. */
        record Silent(Duration since) implements News {}
    }
}
