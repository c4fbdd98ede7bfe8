package dev.warmpath.worker.routerlink;

import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.protocol.process.ProcessEnd;
import java.io.IOException;
import java.net.InetAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.json.JsonMapper;

/**
 * Keeps this worker known to every router: one virtual thread per router address registers and sends heartbeats, one
 * more looks up the routers' names every five seconds and starts and ends those threads. Between two heartbeats each
 * thread looks a few times whether there is news, and while several routers know the worker it does not wait for the
 * next second then: nobody wakes it, so the engine pays nothing for it.
 *
 * <p>Draining tells them to send nothing new. Closing says farewell to each router: one that follows the worker by the
 * log in Redis has no stream whose end it would see.
 */
public final class RouterLink implements AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(RouterLink.class);
    private static final Duration RESOLVE_INTERVAL = Duration.ofSeconds(5);
    private static final Duration LONGEST_FAREWELL = Duration.ofSeconds(1);

    private final RouterLinkProperties properties;
    private final Registration registration;
    private final Supplier<WorkerLoad> load;
    private final KvEventPublisher events;
    private final RouterClient client;
    private final Map<URI, Thread> greeters = new HashMap<>();
    /** Routers that know this worker now. */
    private final AtomicInteger registered = new AtomicInteger();
    private final NameServer names;
    // the resolver's own
    /** By name, the addresses of its last answer: a failing name server must not cut the fleet apart. */
    private final Map<URI, Set<URI>> addresses = new HashMap<>();
    private final Set<URI> unknown = new HashSet<>();

    private @Nullable Thread resolver;
    private boolean closed;
    private volatile boolean draining;
    private volatile boolean known;

    /** As {@link InetAddress#getAllByName}. */
    interface NameServer {
        InetAddress[] lookUp(String host) throws UnknownHostException;
    }

    /** @param load asked once per heartbeat and router, and once per early interval; must answer at once */
    public RouterLink(RouterLinkProperties properties, Registration registration, Supplier<WorkerLoad> load,
            KvEventPublisher events, JsonMapper json) {
        this(properties, registration, load, events, json, InetAddress::getAllByName);
    }

    RouterLink(RouterLinkProperties properties, Registration registration, Supplier<WorkerLoad> load,
            KvEventPublisher events, JsonMapper json, NameServer names) {
        this.names = names;
        this.properties = properties;
        this.registration = registration;
        this.load = load;
        this.events = events;
        this.client = new RouterClient(properties.fleetToken(), json);
    }

    /** To be called once the worker's port is open: routers answer a registration by connecting to it. */
    public synchronized void start() {
        if (resolver == null && !closed) {
            resolver = Thread.ofVirtual().name("routerlink-resolve").start(this::resolveAgainAndAgain);
        }
    }

    /**
     * True once some router has taken this worker and found it at its address, and of a worker that has no routers. It
     * stays true: routers come and go.
     */
    public boolean isKnown() {
        return known || properties.urls().isEmpty();
    }

    /**
     * Tells every router to send nothing new. From now on each heartbeat says so, and one goes out at once.
     *
     * @return once all routers have answered or two seconds are over: true if some router has heard it
     */
    public boolean drain() {
        draining = true;
        List<URI> routers;
        synchronized (this) {
            routers = List.copyOf(greeters.keySet());
        }
        var heard = new AtomicBoolean();
        List<Thread> telling = routers.stream().map(router -> Thread.ofVirtual()
                .name("routerlink-drain-" + router.getAuthority()).start(() -> tell(router, heard))).toList();
        try {
            for (Thread each : telling) {
                each.join();                                       // the client's time-out bounds it
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return heard.get();
    }

    private void tell(URI router, AtomicBoolean heard) {
        try {
            if (client.post(router, Protocol.HEARTBEATS_PATH, heartbeat()) == null) {
                heard.set(true);
            }
        } catch (IOException e) {
            log.debug("router {} does not hear that this worker drains: {}", router, e.toString());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Waits until all routers have taken the farewell, a second at most. */
    @Override
    public void close() {
        List<Thread> leaving;
        synchronized (this) {
            closed = true;
            if (resolver != null) {
                resolver.interrupt();
            }
            leaving = List.copyOf(greeters.values());
            greeters.clear();
        }
        leaving.forEach(Thread::interrupt);
        long deadline = System.nanoTime() + LONGEST_FAREWELL.toNanos();
        try {
            for (Thread greeter : leaving) {
                greeter.join(Duration.ofNanos(Math.max(0, deadline - System.nanoTime())));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();                    // whoever hears nothing waits for the lease
        }
    }

    private void resolveAgainAndAgain() {
        try {
            while (true) {
                try {
                    resolve();
                } catch (RuntimeException | Error e) {
                    ProcessEnd.rethrowIfFatal(e);
                    log.error("looking up routers failed in the worker", e);
                }
                Thread.sleep(RESOLVE_INTERVAL);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();                    // closed
        }
    }

    /** Looks every name up once. One that gives no answer stands for what it stood for: see {@link #addresses}. */
    void resolve() {
        for (URI url : properties.urls()) {
            try {
                addresses.put(url, addressesOf(url));
                if (unknown.remove(url)) {
                    log.info("router name {} is known now", url.getHost());
                }
            } catch (UnknownHostException | URISyntaxException e) {
                if (unknown.add(url)) {
                    log.warn("router name {} cannot be looked up, trying again every {} s; warmpath.routerlink.urls has it: "
                            + "{}", url.getHost(), RESOLVE_INTERVAL.toSeconds(), e.getMessage());
                }
            }
        }
        greet(addresses.values().stream().flatMap(Set::stream).collect(Collectors.toSet()));
    }

    /** One for each router. An https name stays as it is, since the certificate is for the name. */
    private Set<URI> addressesOf(URI url) throws UnknownHostException, URISyntaxException {
        if (!"http".equals(url.getScheme())) {
            return Set.of(url);
        }
        Set<URI> routers = new HashSet<>();
        for (InetAddress address : names.lookUp(url.getHost())) {
            routers.add(new URI("http", null, address.getHostAddress(), url.getPort(), null, null, null));
        }
        return routers;
    }

    private synchronized void greet(Set<URI> routers) {
        if (closed) {
            return;
        }
        greeters.entrySet().removeIf(greeter -> !routers.contains(greeter.getKey()) && end(greeter.getValue()));
        for (URI router : routers) {
            greeters.computeIfAbsent(router, address -> Thread.ofVirtual().name("routerlink-" + address.getAuthority())
                    .start(new RouterGreeter(address, registration, this::heartbeat, load, client,
                            properties, registered, () -> known = true)));
        }
    }

    private static boolean end(Thread greeter) {
        greeter.interrupt();
        return true;
    }

    private Heartbeat heartbeat() {
        WorkerLoad now = load.get();
        KvEventPublisher.State state = events.state();
        return new Heartbeat(registration.workerId(), registration.epoch(), now.running(), now.waiting(),
                now.freeBlocks(), now.pendingPromptTokens(), state.lastSequence(), state.setSize(), state.setDigest(),
                draining, now.stepAgeMillis(), now.hanging(), now.pendingRequests(), now.routers(),
                now.contextTokens(), now.stepCost(), now.held());
    }
}
