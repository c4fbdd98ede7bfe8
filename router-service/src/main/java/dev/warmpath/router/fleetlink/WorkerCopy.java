package dev.warmpath.router.fleetlink;

import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleetlink.LinkAction.News;
import dev.warmpath.router.metrics.RouterMetrics;
import dev.warmpath.router.metrics.RouterMetrics.ReloadSource;
import dev.warmpath.router.prefix.ApplyOutcome;
import java.net.SocketTimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the index knows of one worker, in the hands of the worker's link: batches go in, and fleet, meters and log are
 * told what came of them and what else the {@link Follower} says. Decides nothing.
 */
final class WorkerCopy {

    private static final Logger log = LoggerFactory.getLogger(WorkerCopy.class);

    private final Fleet fleet;
    private final FleetWorker worker;
    private final RouterMetrics metrics;

    WorkerCopy(Fleet fleet, FleetWorker worker, RouterMetrics metrics) {
        this.fleet = fleet;
        this.worker = worker;
        this.metrics = metrics;
    }

    /**
     * @param source   where a snapshot comes from
     * @param nowNanos on the fleet's monotonic clock
     */
    void apply(KvEventBatch batch, ReloadSource source, long nowNanos) {
        ApplyOutcome outcome = worker.events().apply(batch);
        if (worker.isGone()) {                                     // its keys were taken away while the batch came in
            return;
        }
        switch (outcome) {
            case ApplyOutcome.Applied(var _) -> applied(batch, source, nowNanos);
            case ApplyOutcome.Repeated(var _) -> { }
            case ApplyOutcome.Gap gap -> {
                metrics.gapFound();
                log.info("copy of worker {} needs a snapshot: {}", worker, gap);
            }
            case ApplyOutcome.Drift drift -> {
                metrics.driftFound();
                log.warn("copy of worker {} needs a snapshot: {}", worker, drift);
            }
            case ApplyOutcome.TooManyKeys tooMany -> {
                metrics.batchRejected();
                fleet.eventsStuck(worker, "its events cannot be used: " + tooMany);
            }
            case ApplyOutcome.WrongSender stranger -> {
                metrics.batchRejected();
                fleet.remove(worker, "somebody else answers at its address: " + stranger);
            }
        }
    }

    private void applied(KvEventBatch batch, ReloadSource source, long nowNanos) {
        metrics.changesApplied(batch.keyCount());
        if (batch.snapshot()) {
            metrics.reloaded(source);
            fleet.indexed(worker);
            worker.markLoaded(nowNanos);
        }
    }

    void tell(News news) {
        switch (news) {
            case News.Followed(var by, var why) -> {
                worker.markFollowedBy(by);
                if (why != null) {
                    log.info("worker {} is followed by its {} events: {}", worker, by, why);
                }
            }
            case News.Drifted(var drift) -> {
                metrics.driftFound();
                log.warn("copy of worker {} needs a snapshot: {}", worker, drift);
            }
            case News.StreamEnded(var source, var why) -> {
                if (!worker.isGone()) {
                    log.info("no more of worker {}'s own events ({}): {}", worker, source, why);
                }
            }
            case News.StreamProblem(var problem) -> fleet.streamEnds(worker, problem);
            case News.Unreadable(var why) -> fleet.eventsStuck(worker, why);
            case News.Gone(var why) -> fleet.remove(worker, why);
            case News.Silent(var since) ->
                    fleet.connectionLost(worker, new SocketTimeoutException("no heartbeat for " + since));
        }
    }
}
