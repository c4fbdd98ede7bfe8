package dev.warmpath.router.fleetlink;

import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetWorker;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;

/**
 * The threads behind the fleet: a follower per worker, a loader per revision until it is loaded, and one that looks
 * after leases when nobody asks. All virtual; all end when the router does.
 */
final class WorkerLinks implements AutoCloseable {

    private static final Duration LEASE_CHECK_INTERVAL = Duration.ofMillis(250);

    private final Fleet fleet;
    private final WorkerHttp http;
    private final LongSupplier nanoTime;
    private final Set<Thread> threads = ConcurrentHashMap.newKeySet();
    private volatile boolean closed;

    WorkerLinks(Fleet fleet, WorkerHttp http, LongSupplier nanoTime) {
        this.fleet = fleet;
        this.http = http;
        this.nanoTime = nanoTime;
        start("fleet-leases", this::watchLeases);
    }

    /** Begins to learn what a new worker holds and, if nobody does yet, to load its model. */
    void follow(FleetWorker worker) {
        var random = RandomGenerator.getDefault();
        start("fleet-events-" + worker.id(), new EventFollower(fleet, worker, http, nanoTime, random));
        if (fleet.claimLoading(worker.revision())) {
            start("fleet-model-" + worker.revision(), new ModelLoading(fleet, worker.revision(), http, random));
        }
    }

    private void start(String name, Task task) {
        if (closed) {
            return;
        }
        Thread thread = Thread.ofVirtual().name(name).unstarted(() -> {
            try {
                task.run();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();                // the router is closing
            } finally {
                threads.remove(Thread.currentThread());
            }
        });
        threads.add(thread);
        thread.start();
    }

    /** Straight-line code that ends when interrupted. */
    interface Task {
        void run() throws InterruptedException;
    }

    private void watchLeases() throws InterruptedException {
        while (!closed) {
            fleet.expireLeases();
            Thread.sleep(LEASE_CHECK_INTERVAL);
        }
    }

    @Override
    public void close() {
        closed = true;
        threads.forEach(Thread::interrupt);
    }
}
