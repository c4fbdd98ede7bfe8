package dev.warmpath.router.fleetlink;

import dev.warmpath.protocol.process.ProcessEnd;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleetlink.LinkAction.Step;
import dev.warmpath.router.fleetlink.log.LogInbox;
import dev.warmpath.router.fleetlink.stream.WorkerStream;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps the index in step with one worker for as long as it is in the fleet, by whichever of the two roads its
 * {@link Follower} says: the log's inbox or the worker's own stream. One thread, the only one that applies to this
 * worker's copy; the batches are the same on both roads.
 */
final class WorkerLink {

    private static final Logger log = LoggerFactory.getLogger(WorkerLink.class);

    private final FleetWorker worker;
    private final Follower follower;
    private final WorkerCopy copy;
    private final LogInbox inbox;
    private final WorkerStream stream;
    private final LongSupplier nanoTime;

    /** @param nanoTime the fleet's monotonic clock */
    WorkerLink(FleetWorker worker, Follower follower, WorkerCopy copy, LogInbox inbox, WorkerStream stream,
            LongSupplier nanoTime) {
        this.worker = worker;
        this.follower = follower;
        this.copy = copy;
        this.inbox = inbox;
        this.stream = stream;
        this.nanoTime = nanoTime;
    }

    void run() throws InterruptedException {
        while (!worker.isGone()) {
            try (stream) {
                follow();
            } catch (RuntimeException | Error e) {
                ProcessEnd.rethrowIfFatal(e);
                log.error("following worker {} failed in the router", worker, e);
                Thread.sleep(Follower.TURN);
            }
        }
    }

    private void follow() throws InterruptedException {
        LinkEvent event = new LinkEvent.Begun();
        while (!worker.isGone()) {
            Step step = follower.next(event, inbox.state(), nanoTime.getAsLong());
            step.news().forEach(copy::tell);
            if (!worker.isGone()) {
                event = perform(step.action());
            }
        }
    }

    private LinkEvent perform(LinkAction action) throws InterruptedException {
        return switch (action) {
            case LinkAction.ReadLog(var patience) -> {
                stream.close();
                yield new LinkEvent.LogTurn(inbox.poll(patience));
            }
            case LinkAction.Pause(var pause) -> {
                Thread.sleep(pause);
                yield new LinkEvent.Paused();
            }
            case LinkAction.OpenStream(var pause) -> {
                stream.close();
                Thread.sleep(pause);
                stream.open();
                yield new LinkEvent.StreamOpened();
            }
            case LinkAction.ReadStream() -> new LinkEvent.StreamRead(stream.read());
            case LinkAction.Apply(var batch, var source) -> {
                copy.apply(batch, source, nanoTime.getAsLong());
                yield new LinkEvent.Applied();
            }
        };
    }
}
