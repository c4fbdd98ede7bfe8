package dev.warmpath.router.live;

import com.fasterxml.jackson.annotation.JsonUnwrapped;
import dev.warmpath.protocol.process.ProcessEnd;
import dev.warmpath.router.decisions.Decision;
import dev.warmpath.router.decisions.DecisionView;
import dev.warmpath.router.decisions.DecisionWatcher;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.models.ServedModel;
import dev.warmpath.router.prefix.PrefixIndex;
import dev.warmpath.router.routing.RequestRouter;
import dev.warmpath.router.routing.TokenizedPrompt;
import java.io.ByteArrayOutputStream;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.SmartLifecycle;
import reactor.core.publisher.Flux;
import reactor.core.publisher.FluxSink;
import tools.jackson.databind.PropertyNamingStrategies.SnakeCaseStrategy;
import tools.jackson.databind.annotation.JsonNaming;
import tools.jackson.databind.json.JsonMapper;

/**
 * The feed: one thread looks at the fleet some times a second and tells all who watch. What one of them has not taken
 * yet is not queued up for him: he is told what is so when he takes more, of a pool its changes or, if he has missed
 * too many of these, all of it. Decisions that come too fast are left out, the oldest first.
 *
 * <p>While nobody watches, a point a second is kept for {@link History}, and nothing else is done.
 */
public final class LiveFeed implements DecisionWatcher, SmartLifecycle {

    static final int MAX_VIEWERS = 32;
    static final int MAX_POOLS_OF_VIEWER = 4;

    private static final Logger log = LoggerFactory.getLogger(LiveFeed.class);
    private static final int USUAL_POOLS = 2;
    private static final long TICK_MILLIS = 100;
    private static final Duration LONGEST_TICK = Duration.ofSeconds(1);
    private static final int TICKS_OF_FLEET = 5;
    /** Of a fleet whose picture takes some hundred kilobytes. */
    private static final int TICKS_OF_LARGE_FLEET = 20;
    private static final int LARGE_FLEET = 128;
    /** Rates follow what happens within some seconds; hit rate and first tokens are the last minute's. */
    private static final int RATE_SECONDS = 10;
    /** Waiting to be told, and told lately. */
    private static final int MAX_DECISIONS = 64;
    /** Nobody reads faster; who wants all asks the endpoint. */
    private static final int DECISIONS_OF_TICK = 4;
    /** Ends of a try that are nobody's failure. */
    private static final Set<String> WELL = Set.of("answered", "left");

    private final Fleet fleet;
    private final PrefixIndex index;
    private final RequestRouter router;
    private final Pools pools;
    private final JsonMapper json;
    private final Greeting greeting;
    private final InstantSource clock;
    private final LongSupplier nanoTime;
    private final Totals totals;
    private final HotPrefixes prefixes;
    private final History history = new History();
    private final List<Viewer> viewers = new CopyOnWriteArrayList<>();
    /** Tries that go on, and how much of them has been counted. */
    private final Map<Decision, Totals.Counted> open = new ConcurrentHashMap<>();
    /** Not told yet, each once; guarded by itself. */
    private final LinkedHashSet<Decision> untold = new LinkedHashSet<>();
    private @Nullable ScheduledExecutorService thread;
    private volatile boolean running;

    // of the thread
    private long ticks;
    private long lastSecond;
    private long fleetNumber;
    private byte[] fleetEvent = {};
    private final Deque<byte[]> decisionEvents = new ArrayDeque<>();
    private long lastDecision;

    /** What is told first. @see LiveRoutes */
    @JsonNaming(SnakeCaseStrategy.class)
    record Hello(String version, boolean demo, String playground, List<String> models, History.View history) {}

    /** A decision, and what tells it from all others. */
    @JsonNaming(SnakeCaseStrategy.class)
    private record Told(String id, @JsonUnwrapped DecisionView decision) {}

    /** Who watches, and what he has been sent. Its fields are the thread's. */
    private static final class Viewer {
        private final FluxSink<byte[]> sink;
        private final BooleanSupplier takesMore;
        private final Set<String> wanted;
        private final Map<FleetWorker, Long> samples = new HashMap<>();
        private final Map<FleetWorker, String> unavailable = new HashMap<>();
        private boolean greeted;
        private long fleetNumber;
        private long decisionNumber;

        Viewer(FluxSink<byte[]> sink, BooleanSupplier takesMore, Set<String> wanted) {
            this.sink = sink;
            this.takesMore = takesMore;
            this.wanted = wanted;
        }
    }

    /** How a feed is introduced. */
    interface Greeting {
        Hello hello(List<String> models, History.View history);
    }

    LiveFeed(Fleet fleet, PrefixIndex index, RequestRouter router, Pools pools, HotPrefixes prefixes, JsonMapper json,
            Greeting greeting, InstantSource clock, LongSupplier nanoTime) {
        this.fleet = fleet;
        this.index = index;
        this.router = router;
        this.pools = pools;
        this.prefixes = prefixes;
        this.json = json;
        this.greeting = greeting;
        this.clock = clock;
        this.nanoTime = nanoTime;
        this.totals = new Totals(nanoTime);
    }

    @Override
    public void decided(Decision decision, TokenizedPrompt prompt) {
        open.put(decision, totals.begun());
        if (decision.subject().attempt() == 1) {
            prefixes.add(prompt);
        }
        offer(decision);
    }

    @Override
    public void ended(Decision decision) {
        Totals.Counted counted = open.remove(decision);
        if (counted != null) {
            count(decision, counted);
        }
        Decision.Outcome outcome = Objects.requireNonNull(decision.outcome());
        totals.ended(!WELL.contains(outcome.end()), promptLength(decision), outcome.cachedTokens());
        offer(decision);
    }

    private void count(Decision decision, Totals.Counted counted) {
        totals.goesOn(counted, promptLength(decision), decision.firstTokenSoFarNanos(), decision.drawnTokens());
    }

    private static int promptLength(Decision decision) {
        return decision.routed().snapshot().query().promptTokens();
    }

    private void offer(Decision decision) {
        if (viewers.isEmpty()) {
            return;
        }
        synchronized (untold) {
            untold.remove(decision);                               // the newest are told
            untold.add(decision);
            if (untold.size() > MAX_DECISIONS) {
                untold.removeFirst();
            }
        }
    }

    /**
     * Events from now on, for one who watches.
     *
     * @param wanted ids of workers whose pools are to be told, at most {@value #MAX_POOLS_OF_VIEWER} of them; none: of
     *               the first two that have one
     * @param takesMore whether the network has taken what was sent before, but for some kilobytes
     * @return null if {@value #MAX_VIEWERS} watch already, or the router ends
     */
    @Nullable Flux<byte[]> watch(Set<String> wanted, BooleanSupplier takesMore) {
        if (!running || viewers.size() >= MAX_VIEWERS) {
            return null;
        }
        return Flux.create(sink -> {
            var viewer = new Viewer(sink, takesMore, wanted);
            sink.onDispose(() -> viewers.remove(viewer));
            viewers.add(viewer);
            if (!running) {
                sink.complete();
            }
        });
    }

    /** The fleet as it is now. */
    FleetPicture fleet() {
        return FleetPicture.of(fleet, models(), index.stats(), totals.view(router.inFlight(), RATE_SECONDS), pools,
                Instant.ofEpochMilli(clock.millis()), nanoTime.getAsLong());
    }

    private List<String> models() {
        return fleet.models().stream().map(ServedModel::name).distinct().toList();
    }

    private void tick() {
        try {
            ticks++;
            open.forEach(this::count);
            long second = clock.instant().getEpochSecond();
            boolean pointIsDue = second != lastSecond;
            int ticksOfFleet = fleet.everyone().size() > LARGE_FLEET ? TICKS_OF_LARGE_FLEET : TICKS_OF_FLEET;
            boolean fleetIsDue = !viewers.isEmpty() && ticks % ticksOfFleet == 0;
            if (pointIsDue || fleetIsDue) {
                FleetPicture now = fleet();
                if (pointIsDue) {
                    lastSecond = second;
                    remember(now);
                }
                if (fleetIsDue) {
                    fleetNumber++;
                    fleetEvent = SentEvent.of("fleet", now, json);
                }
            }
            encodeDecisions();
            pools.follow(wantedPools());
            viewers.forEach(this::tell);
        } catch (RuntimeException | Error e) {
            ProcessEnd.rethrowIfFatal(e);
            log.error("watching the fleet failed in the router", e);
        }
    }

    private void remember(FleetPicture now) {
        Totals.View router = now.router();
        history.add(clock.instant().getEpochSecond(), now.usage(), orNone(router.hitRate()), router.tokensPerSecond(),
                router.promptTokensPerSecond(), now.running(), now.waiting(),
                router.firstTokenMs() == null ? Double.NaN : router.firstTokenMs().p50());
    }

    private static double orNone(@Nullable Double value) {
        return value == null ? Double.NaN : value;
    }

    private void encodeDecisions() {
        List<Decision> latest;
        synchronized (untold) {
            latest = List.copyOf(untold);
            untold.clear();
        }
        for (Decision next : latest.subList(Math.max(0, latest.size() - DECISIONS_OF_TICK), latest.size())) {
            String id = next.subject().requestId() + "/" + next.subject().attempt() + "/" + next.at();
            if (decisionEvents.size() == MAX_DECISIONS) {
                decisionEvents.removeFirst();
            }
            decisionEvents.addLast(SentEvent.of("decision", new Told(id, DecisionView.of(next)), json));
            lastDecision++;
        }
    }

    private List<FleetWorker> wantedPools() {
        List<FleetWorker> everyone = fleet.everyone();
        Set<FleetWorker> wanted = new LinkedHashSet<>();
        viewers.forEach(viewer -> wanted.addAll(poolsOf(viewer, everyone)));
        return new ArrayList<>(wanted);
    }

    private List<FleetWorker> poolsOf(Viewer viewer, List<FleetWorker> everyone) {
        return viewer.wanted.isEmpty()
                ? everyone.stream().filter(each -> !pools.hasNone(each)).limit(USUAL_POOLS).toList()
                : everyone.stream().filter(each -> viewer.wanted.contains(each.id()))
                        .limit(MAX_POOLS_OF_VIEWER).toList();
    }

    /** Sends what one has not seen, unless he has not taken yet what was sent before. */
    private void tell(Viewer viewer) {
        if (viewer.sink.requestedFromDownstream() == 0 || !viewer.takesMore.getAsBoolean()) {
            return;
        }
        var events = new ByteArrayOutputStream();
        if (!viewer.greeted) {
            viewer.greeted = true;
            viewer.decisionNumber = lastDecision;
            events.writeBytes(SentEvent.of("hello", greeting.hello(models(), history.view()), json));
            viewer.fleetNumber = fleetNumber;                      // the last may be of long ago, when somebody watched
            events.writeBytes(SentEvent.of("fleet", fleet(), json));
        }
        if (viewer.fleetNumber != fleetNumber) {
            viewer.fleetNumber = fleetNumber;
            events.writeBytes(fleetEvent);
        }
        tellPools(viewer, events);
        long missed = Math.min(lastDecision - viewer.decisionNumber, decisionEvents.size());
        decisionEvents.stream().skip(decisionEvents.size() - missed).forEach(events::writeBytes);
        viewer.decisionNumber = lastDecision;
        if (events.size() > 0) {
            viewer.sink.next(events.toByteArray());
        }
    }

    private void tellPools(Viewer viewer, ByteArrayOutputStream events) {
        List<FleetWorker> wanted = poolsOf(viewer, fleet.everyone());
        viewer.samples.keySet().retainAll(wanted);
        viewer.unavailable.keySet().retainAll(wanted);
        for (FleetWorker worker : wanted) {
            PoolWatch watch = pools.of(worker);
            if (watch == null && !pools.isFull()) {
                continue;                                          // it has come since this tick began
            }
            String why = watch == null ? "as many pools are watched as may be" : watch.unavailable();
            if (why != null) {
                viewer.samples.remove(worker);                     // what comes after is told from the beginning
                if (!why.equals(viewer.unavailable.put(worker, why))) {
                    events.writeBytes(SentEvent.of("pool", new PoolPicture.Unavailable(worker.id(), why), json));
                }
                continue;
            }
            viewer.unavailable.remove(worker);
            PoolWatch.News news = watch.since(viewer.samples.getOrDefault(worker, -1L));
            if (news != null) {
                viewer.samples.put(worker, news.sample());
                events.writeBytes(news.events());
            }
        }
    }

    @Override
    public void start() {
        running = true;
        thread = Executors.newSingleThreadScheduledExecutor(Thread.ofPlatform().name("live").daemon().factory());
        thread.scheduleWithFixedDelay(this::tick, TICK_MILLIS, TICK_MILLIS, TimeUnit.MILLISECONDS);
    }

    /** Streams never end by themselves: without this, a graceful stop would wait for them. */
    @Override
    public void stop() {
        running = false;
        ScheduledExecutorService ending = Objects.requireNonNull(thread);
        ending.shutdownNow();
        try {
            ending.awaitTermination(LONGEST_TICK.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        viewers.forEach(viewer -> viewer.sink.complete());
        pools.close();
    }

    @Override
    public boolean isRunning() {
        return running;
    }
}
