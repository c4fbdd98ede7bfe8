package dev.warmpath.planner.simulation;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.protocol.fleet.RouterId;
import dev.warmpath.router.routing.RouteDecision.Routed;
import dev.warmpath.router.routing.RouteResult.Placed;
import dev.warmpath.router.routing.RoutingPolicy;
import dev.warmpath.workload.Session;
import dev.warmpath.workload.Turn;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * A fleet under a simulated clock: real routers (index, books, policy) over real workers (scheduler, block manager)
 * whose device is a {@link ServiceModel}. One thread; everything follows from the seed.
 *
 * <p>Left out: networks, but for one time that each request takes, tokenizing, the waiting room before a router, and
 * everything that fails.
 */
public final class SimulatedFleet {

    private static final long HEARTBEAT_MICROS = 1_000_000;
    /** As workers' setting has it unless changed. */
    private static final long EARLY_HEARTBEAT_MICROS = 50_000;

    /**
     * @param workers          at least 1
     * @param routers          at least 1; each request goes to one drawn by chance
     * @param blockSize        tokens of a block
     * @param blockCount       of each worker's pool
     * @param maxBatchedTokens of a step
     * @param maxSequences     that run side by side on a worker
     * @param contextLength    most tokens of a sequence
     * @param service          what a step takes
     * @param eventDelayMicros from a step's end to the index of each router
     * @param seed             of all that is drawn
     * @param mostInFlight     requests; with so many the run is given up
     * @param prefixCaching    false: workers reuse nothing
     */
    public record Settings(int workers, int routers, int blockSize, int blockCount, int maxBatchedTokens,
            int maxSequences, int contextLength, ServiceModel service, long eventDelayMicros, long seed,
            int mostInFlight, boolean prefixCaching) {

        /** Prefixes are cached; given up when every place at every worker is taken. */
        public Settings(int workers, int routers, int blockSize, int blockCount, int maxBatchedTokens,
                int maxSequences, int contextLength, ServiceModel service, long eventDelayMicros, long seed) {
            this(workers, routers, blockSize, blockCount, maxBatchedTokens, maxSequences, contextLength, service,
                    eventDelayMicros, seed, workers * maxSequences, /* prefix caching */ true);
        }

        public Settings withRouters(int routers) {
            return new Settings(workers, routers, blockSize, blockCount, maxBatchedTokens, maxSequences, contextLength,
                    service, eventDelayMicros, seed, mostInFlight, prefixCaching);
        }
    }

    private final Timeline timeline = new Timeline();
    private final HashSettings hashing;
    private final List<SimulatedWorker> workers = new ArrayList<>();
    private final List<SimulatedRouter> routers = new ArrayList<>();
    private final Map<String, SimulatedWorker> workerById = new HashMap<>();
    private final SplittableRandom balancer;
    private final long eventDelayMicros;
    private final long requestMicros;
    private final int mostInFlight;
    private final Consumer<Routed> decided;
    private final Times firstToken = new Times();
    private final Times betweenTokens = new Times();
    /** Sessions that have begun, or will, and have not ended. */
    private int open;
    private int inFlight;
    private long refused;
    private long promptBlocks;
    private long cachedBlocks;

    private SimulatedFleet(Settings settings, Supplier<RoutingPolicy> policy, Consumer<Routed> decided) {
        this.decided = decided;
        hashing = HashSettings.ofBlockSize(settings.blockSize());
        balancer = new SplittableRandom(settings.seed());
        eventDelayMicros = settings.eventDelayMicros();
        requestMicros = Math.round(settings.service().requestMicros());
        mostInFlight = settings.mostInFlight();
        for (int i = 0; i < settings.workers(); i++) {
            var worker = new SimulatedWorker("worker-" + (i + 1), timeline, settings, hashing, this::publish);
            workers.add(worker);
            workerById.put(worker.id(), worker);
        }
        for (int i = 0; i < settings.routers(); i++) {
            routers.add(new SimulatedRouter(workers, settings, hashing, policy.get(), timeline, new RouterId("r" + i)));
        }
    }

    /** As {@link #run(Settings, Supplier, Iterator)}. */
    public static Report run(Settings settings, Supplier<RoutingPolicy> policy, List<Session> sessions) {
        return run(settings, policy, sessions.iterator());
    }

    /**
     * Runs sessions to their end, or until so many requests are in flight that waits only grow.
     *
     * @param policy   a new one for each router
     * @param sessions in order of their begin; the next one is asked for when the one before it begins
     */
    public static Report run(Settings settings, Supplier<RoutingPolicy> policy, Iterator<Session> sessions) {
        return run(settings, policy, sessions, _ -> {});
    }

    /** The same. @param decided is told of each decision */
    public static Report run(Settings settings, Supplier<RoutingPolicy> policy, Iterator<Session> sessions,
            Consumer<Routed> decided) {
        var fleet = new SimulatedFleet(settings, policy, decided);
        for (int i = 0; i < fleet.workers.size(); i++) {
            SimulatedWorker worker = fleet.workers.get(i);
            fleet.timeline.at(HEARTBEAT_MICROS * i / fleet.workers.size(),
                    () -> fleet.heartbeat(worker, HEARTBEAT_MICROS));
        }
        fleet.begin(sessions);
        while (fleet.open > 0 && !fleet.isOverloaded() && fleet.timeline.next()) {
            // each event plans the next ones
        }
        return fleet.report();
    }

    private void begin(Iterator<Session> sessions) {
        if (sessions.hasNext()) {
            Session session = sessions.next();
            open++;
            timeline.at(Math.max(timeline.micros(), session.startMicros()), () -> {
                send(session, 0);
                begin(sessions);
            });
        }
    }

    private void send(Session session, int number) {
        Turn turn = session.turns().get(number);
        int[] tokens = turn.prompt().tokens();
        // router and worker hash alike, so that here, where time is not theirs, once is enough
        BlockHashChain chain = BlockHashChain.of(hashing, ExtraKeys.NONE, tokens);
        SimulatedRouter router = routers.get(balancer.nextInt(routers.size()));
        Placed placed = router.place(tokens, chain);
        decided.accept(placed.decision());
        SimulatedWorker worker = workerById.get(placed.worker().id());
        var request = new InFlight(session, number, placed, timeline.micros());
        Runnable arrive = () -> arrive(worker, turn, tokens, chain, router.id(), request);
        if (requestMicros == 0) {
            arrive.run();
        } else {
            timeline.after(requestMicros, arrive);
        }
    }

    private void arrive(SimulatedWorker worker, Turn turn, int[] tokens, BlockHashChain chain, RouterId router,
            InFlight request) {
        if (worker.submit(turn, tokens, chain.fork(), router, request)) {
            inFlight++;
        } else {
            refused++;
            request.placed.inFlight().close();
            goOn(request.session, request.number);
        }
    }

    private void goOn(Session session, int number) {
        if (number + 1 < session.turns().size()) {
            timeline.after(session.thinkMicros()[number], () -> send(session, number + 1));
        } else {
            open--;
        }
    }

    private final class InFlight implements SimulatedWorker.Progress {

        private final Session session;
        private final int number;
        private final Placed placed;
        private final long sentMicros;
        private long firstMicros;

        private InFlight(Session session, int number, Placed placed, long sentMicros) {
            this.session = session;
            this.number = number;
            this.placed = placed;
            this.sentMicros = sentMicros;
        }

        @Override
        public void firstToken(int cachedTokens) {
            placed.inFlight().firstToken();
            firstMicros = timeline.micros();
            firstToken.add(firstMicros - sentMicros);
            promptBlocks += session.turns().get(number).prompt().length() / hashing.blockSize();
            cachedBlocks += cachedTokens / hashing.blockSize();
        }

        @Override
        public void ended() {
            placed.inFlight().close();
            inFlight--;
            int gaps = session.turns().get(number).answerTokens() - 1;
            if (gaps > 0) {
                betweenTokens.add((timeline.micros() - firstMicros) / gaps);
            }
            goOn(session, number);
        }
    }

    private void publish(KvEventBatch batch) {
        timeline.after(eventDelayMicros, () -> routers.forEach(router -> router.apply(batch)));
    }

    /** Once a second, and early ones where several routers may have brought the news. */
    private void heartbeat(SimulatedWorker worker, long sinceMicros) {
        boolean isDue = sinceMicros >= HEARTBEAT_MICROS || routers.size() > 1 && worker.hasNews();
        if (isDue) {
            Heartbeat heartbeat = worker.heartbeat();
            routers.forEach(router -> router.hear(heartbeat));
        }
        long pause = routers.size() > 1 ? EARLY_HEARTBEAT_MICROS : HEARTBEAT_MICROS;
        long next = (isDue ? 0 : sinceMicros) + pause;
        timeline.after(pause, () -> heartbeat(worker, next));
    }

    private boolean isOverloaded() {
        return inFlight >= mostInFlight;
    }

    private Report report() {
        long most = workers.stream().mapToLong(SimulatedWorker::computedTokens).max().orElseThrow();
        double mean = workers.stream().mapToLong(SimulatedWorker::computedTokens).average().orElseThrow();
        double busy = workers.stream().mapToLong(SimulatedWorker::busyMicros).sum();
        long preemptions = workers.stream().mapToLong(SimulatedWorker::preemptions).sum();
        return new Report(isOverloaded(), (double) cachedBlocks / promptBlocks, firstToken, betweenTokens, refused,
                most / mean, busy / workers.size() / timeline.micros(), preemptions, timeline.micros() / 1e6);
    }
}
