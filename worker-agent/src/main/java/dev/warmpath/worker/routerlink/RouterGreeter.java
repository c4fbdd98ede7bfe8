package dev.warmpath.worker.routerlink;

import dev.warmpath.protocol.fleet.Backoff;
import dev.warmpath.protocol.fleet.Farewell;
import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.fleet.RefusalReason;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.protocol.process.ProcessEnd;
import dev.warmpath.worker.routerlink.RouterClient.Refusal;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Introduces the worker to one router, then sends heartbeats; begins anew whenever the router forgets it. Interrupted,
 * it says farewell and ends. One message at a time: what happens while one is under way is told by the next.
 */
final class RouterGreeter implements Runnable {

    private static final Logger log = LoggerFactory.getLogger(RouterGreeter.class);
    /** A refusal is a matter of settings; people take longer than this to change them. */
    private static final Duration PAUSE_AFTER_REFUSAL = Duration.ofSeconds(10);

    /** Longer than a router takes to find out that it cannot reach this worker. */
    private static final Duration GOOD_WHILE = Duration.ofSeconds(5);

    private final URI router;
    private final Registration registration;
    private final Supplier<Heartbeat> heartbeat;
    private final Supplier<WorkerLoad> load;
    private final RouterClient client;
    private final Duration heartbeatInterval;
    private final EarlyHeartbeats early;
    private final AtomicInteger registered;
    private final Runnable known;
    private final Backoff backoff = Backoff.ofLink(RandomGenerator.getDefault());
    private String lastTrouble = "";
    /** A router that forgets the worker as soon as it knows it is told of once, and asked less and less often. */
    private boolean forgotten;

    /**
     * @param load       whose news are told early, see {@link WorkerLoad#news}
     * @param registered counts the routers that know the worker, this one while it does
     * @param known      run whenever the router still knows the worker a heartbeat after it took it
     */
    RouterGreeter(URI router, Registration registration, Supplier<Heartbeat> heartbeat, Supplier<WorkerLoad> load,
            RouterClient client, RouterLinkProperties properties, AtomicInteger registered, Runnable known) {
        this.router = router;
        this.registration = registration;
        this.heartbeat = heartbeat;
        this.load = load;
        this.client = client;
        this.heartbeatInterval = properties.heartbeatInterval();
        this.early = new EarlyHeartbeats(properties.earlyHeartbeatInterval());
        this.registered = registered;
        this.known = known;
    }

    @Override
    public void run() {
        try {
            while (!Thread.currentThread().isInterrupted()) {
                Thread.sleep(greet());
            }
        } catch (InterruptedException e) {
            // the link closes, or the router's name no longer stands for this address
        }
        sayFarewell();
    }

    /** Registers and stays in touch until something goes wrong. @return how long to wait before the next try */
    private Duration greet() throws InterruptedException {
        try {
            Refusal refusal = client.post(router, Protocol.REGISTRATIONS_PATH, registration);
            if (refusal == null) {
                if (!forgotten) {
                    registered();
                    backoff.reset();
                }
                registered.incrementAndGet();
                try {
                    refusal = stayInTouch();
                } finally {
                    registered.decrementAndGet();
                }
            }
            return afterRefusal(refusal);
        } catch (IOException e) {
            logOnce("router " + router + " is not reachable, trying again: " + e);
            return backoff.next();
        } catch (RuntimeException | Error e) {
            ProcessEnd.rethrowIfFatal(e);
            log.error("staying in touch with router {} failed in the worker", router, e);
            return backoff.next();
        }
    }

    private Refusal stayInTouch() throws IOException, InterruptedException {
        long begin = System.nanoTime();
        for (boolean first = true; ; first = false) {
            Refusal refusal = beat();
            if (refusal != null) {
                return refusal;
            }
            if (!first) {
                known.run();
            }
            if (System.nanoTime() - begin >= GOOD_WHILE.toNanos()) {
                backoff.reset();
                if (forgotten) {
                    forgotten = false;
                    registered();
                }
            }
            refusal = pauseTellingNews();
            if (refusal != null) {
                return refusal;
            }
        }
    }

    private @Nullable Refusal beat() throws IOException, InterruptedException {
        WorkerLoad toTell = load.get();
        early.tried(System.nanoTime());
        Refusal refusal = client.post(router, Protocol.HEARTBEATS_PATH, heartbeat.get());
        if (refusal == null) {
            early.told(toTell.news(), toTell.held());
        }
        return refusal;
    }

    /**
     * Until the next heartbeat. An early one that does not get through ends nothing: the next one says all that it
     * said, and the one of every second shows whether the router is there.
     */
    private @Nullable Refusal pauseTellingNews() throws InterruptedException {
        long end = System.nanoTime() + heartbeatInterval.toNanos();
        for (long left = heartbeatInterval.toNanos(); left > 0; left = end - System.nanoTime()) {
            Thread.sleep(Duration.ofNanos(early.pauseNanos(left)));
            WorkerLoad now = load.get();
            if (early.isDue(now.news(), now.held(), registered.get(), System.nanoTime())) {
                try {
                    Refusal refusal = beat();
                    if (refusal != null) {
                        return refusal;
                    }
                } catch (IOException e) {
                    log.debug("router {} does not hear an early heartbeat: {}", router, e.toString());
                }
            }
        }
        return null;
    }

    private void registered() {
        log.info("registered with router {}", router);
        lastTrouble = "";
    }

    private Duration afterRefusal(Refusal refusal) {
        if (refusal.reason() == RefusalReason.UNKNOWN_WORKER) {
            forgotten = true;
            logOnce("router " + router + " has forgotten this worker, registering again: unless it was started anew, its "
                    + "log says why, and it has to reach " + registration.baseUrl() + " (warmpath.worker.base-url)");
            return backoff.next();
        }
        logOnce("router " + router + " refuses this worker: " + refusal.detail());
        return PAUSE_AFTER_REFUSAL;
    }

    /** Once, and to a router that may not know the worker: a registration may have been under way. */
    private void sayFarewell() {
        boolean _ = Thread.interrupted();                          // else nothing would be sent
        try {
            client.post(router, Protocol.FAREWELLS_PATH, new Farewell(registration.workerId(), registration.epoch()));
        } catch (IOException e) {
            log.debug("router {} does not hear the farewell: {}", router, e.toString());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void logOnce(String trouble) {
        if (!trouble.equals(lastTrouble)) {
            lastTrouble = trouble;
            log.warn(trouble);
        }
    }
}
