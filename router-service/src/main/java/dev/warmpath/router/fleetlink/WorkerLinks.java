package dev.warmpath.router.fleetlink;

import dev.warmpath.protocol.fleet.Backoff;
import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.protocol.process.ProcessEnd;
import dev.warmpath.redislink.RedisLink;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleet.WorkerView;
import dev.warmpath.router.fleetlink.log.EventLog;
import dev.warmpath.router.fleetlink.log.LogInbox;
import dev.warmpath.router.fleetlink.log.LogReader;
import dev.warmpath.router.fleetlink.stream.WorkerHttp;
import dev.warmpath.router.fleetlink.stream.WorkerStream;
import dev.warmpath.router.health.HealthProperties;
import dev.warmpath.router.metrics.RouterMetrics;
import dev.warmpath.router.metrics.RouterMetrics.WorkerState;
import dev.warmpath.router.prefix.PrefixIndex;
import dev.warmpath.tokenization.SegmentCache;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.json.JsonMapper;

/**
 * The threads behind the fleet: a link per worker, a loader per revision until it is loaded, readers of the log in
 * Redis if there is one, a prober per worker, and those that look after leases, health and swept-out index entries when
 * nobody asks. All virtual; all end when the router does. One platform thread builds their tokenizers.
 */
public final class WorkerLinks implements AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(WorkerLinks.class);
    private static final Duration LEASE_CHECK_INTERVAL = Duration.ofMillis(250);
    private static final Duration SWEEP_INTERVAL = Duration.ofMillis(250);
    private static final Set<WorkerState> ASKED = Set.of(WorkerState.READY, WorkerState.ON_TRIAL);
    private static final Duration METERS_INTERVAL = Duration.ofSeconds(1);
    private static final Duration HEALTH_INTERVAL = Duration.ofMillis(250);
    /**
     * Of all of them together. What they hold, connections to Redis above all, is closed by them, or after them; one that
     * waits for a name server cannot be interrupted.
     */
    private static final Duration LONGEST_GOODBYE = Duration.ofMillis(500);

    private final Fleet fleet;
    private final PrefixIndex index;
    private final EventLog events;
    private final WorkerHttp http;
    private final RouterMetrics metrics;
    private final LongSupplier nanoTime;
    private final ExecutorService builders = Executors.newSingleThreadExecutor(
            Thread.ofPlatform().name("fleet-tokenizers").daemon().factory());   // at most one waits for each revision
    private final Set<Thread> threads = ConcurrentHashMap.newKeySet();
    private volatile @Nullable HealthProperties health;
    private volatile SegmentCache segments = new SegmentCache(0);
    private volatile boolean closed;

    WorkerLinks(Fleet fleet, PrefixIndex index, EventLog events, WorkerHttp http, RouterMetrics metrics,
            LongSupplier nanoTime) {
        this.fleet = fleet;
        this.index = index;
        this.events = events;
        this.http = http;
        this.metrics = metrics;
        this.nanoTime = nanoTime;
        start("fleet-leases", () -> repeat(fleet::expireLeases, LEASE_CHECK_INTERVAL));
        start("index-sweep", () -> repeat(index::sweep, SWEEP_INTERVAL));
    }

    /** Begins to tell the meters the states of workers, and who has left. */
    void tellStates() {
        start("fleet-meters", () -> repeat(() -> tell(fleet.snapshot(), metrics), METERS_INTERVAL));
    }

    private static void tell(List<WorkerView> workers, RouterMetrics metrics) {
        Map<String, WorkerState> states = states(workers);
        metrics.fleet(states, workers.stream()
                .filter(worker -> ASKED.contains(states.get(worker.id())))
                .collect(Collectors.toMap(WorkerView::model, _ -> 1, Integer::sum)));
    }

    /** A worker that is ready, and gets no requests all the same, is in the state that keeps them away. */
    private static Map<String, WorkerState> states(List<WorkerView> workers) {
        Map<String, WorkerState> states = new HashMap<>();
        for (WorkerView worker : workers) {
            states.put(worker.id(), switch (worker.state()) {
                case JOINING -> WorkerState.JOINING;
                case DRAINING -> WorkerState.DRAINING;
                case HANGING -> WorkerState.HANGING;
                case READY -> switch (worker.health()) {
                    case HEALTHY -> WorkerState.READY;
                    case EJECTED -> WorkerState.EJECTED;
                    case ON_TRIAL -> WorkerState.ON_TRIAL;
                    case UNREACHABLE -> WorkerState.UNREACHABLE;
                };
            });
        }
        return states;
    }

    /** Begins to read the log in Redis, whenever it can be reached. */
    void readLog(RedisLink redis, FleetToken token, JsonMapper json) {
        for (LogReader reader : events.readers(
                redis, fleet, this::follow, token, json, metrics, nanoTime, RandomGenerator.getDefault())) {
            start(reader.name(), reader::run);
        }
    }

    /** Begins to compare the health of workers, and to ask those that are followed from now on whether they answer. */
    void watchHealth(HealthProperties properties) {
        health = properties;
        start("fleet-health", () -> repeat(() -> fleet.compareHealth(properties.slowFactor()), HEALTH_INTERVAL));
    }

    /** Tokenizers of models that are loaded from now on remember long texts there. */
    void rememberSegments(SegmentCache cache) {
        segments = cache;
    }

    /** Begins to learn what a new worker holds and, if nobody does yet, to load its model. */
    public void follow(FleetWorker worker) {
        var random = RandomGenerator.getDefault();
        LogInbox inbox = events.open(worker);                      // before any snapshot: no batch may fall between
        var link = new WorkerLink(worker, new Follower(worker, inbox, Backoff.ofLink(random)),
                new WorkerCopy(fleet, worker, metrics), inbox, new WorkerStream(worker, http), nanoTime);
        start("fleet-events-" + worker.id(), () -> {
            try {
                link.run();
            } finally {
                events.close(worker, inbox);
            }
        });
        HealthProperties watched = health;
        if (watched != null) {
            start("fleet-reach-" + worker.id(), new ReachabilityProbe(
                    worker, watched.unreachableAfter(), nanoTime, random));
        }
        if (fleet.claimLoading(worker.revision())) {
            start("fleet-model-" + worker.revision(),
                    new ModelLoading(fleet, worker.revision(), http, builders, segments, random));
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
        if (closed) {                                              // since it was asked: nobody else interrupts this one
            thread.interrupt();
        }
    }

    /** Straight-line code that ends when interrupted. */
    interface Task {
        void run() throws InterruptedException;
    }

    /** One failure says so and is over: nobody else would do the chore. */
    private void repeat(Runnable chore, Duration pause) throws InterruptedException {
        while (!closed) {
            try {
                chore.run();
            } catch (RuntimeException | Error e) {
                ProcessEnd.rethrowIfFatal(e);
                log.error("{} failed in the router", Thread.currentThread().getName(), e);
            }
            Thread.sleep(pause);
        }
    }

    @Override
    public void close() {
        closed = true;
        threads.forEach(Thread::interrupt);
        long deadline = System.nanoTime() + LONGEST_GOODBYE.toNanos();
        try {
            for (Thread thread : threads) {
                thread.join(Duration.ofNanos(Math.max(0, deadline - System.nanoTime())));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        builders.shutdownNow();
        http.close();
    }
}
