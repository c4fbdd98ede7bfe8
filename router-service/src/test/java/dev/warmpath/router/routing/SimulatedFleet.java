package dev.warmpath.router.routing;

import static dev.warmpath.router.fleet.TestWorkers.CHECK;
import static dev.warmpath.router.fleet.TestWorkers.SHA_A;
import static dev.warmpath.router.fleet.TestWorkers.TOKENIZER;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.KeySet;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.event.Medium;
import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.protocol.fleet.ModelDescription;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.protocol.fleet.RevisionParts;
import dev.warmpath.protocol.fleet.RouterId;
import dev.warmpath.protocol.fleet.RouterLoad;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleet.HeartbeatOutcome;
import dev.warmpath.router.fleet.RegistrationOutcome;
import dev.warmpath.router.fleet.TestWorkers;
import dev.warmpath.router.models.ServedModel;
import dev.warmpath.router.prefix.ApplyOutcome;
import dev.warmpath.router.prefix.PrefixIndex;
import dev.warmpath.router.routing.RouteResult.Placed;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Some routers over the same eight workers, in simulated time; everything follows from the seed.
 *
 * <p>A worker computes prompts one after the other, 4 tokens a millisecond, less what its cache of 2,000 blocks of 16
 * holds (least recently used out first); then 15 ms an answer token beside the others, 16 sequences at most. A message
 * takes 2 ms between router and worker, either way; a worker's events take 5 ms to every router.
 *
 * <p>It says how it is as the real one does: once a second, and if there are several routers, up to 50 ms after it took
 * a request or a first token was there; as of the end of its last step, which takes up to 2,048 tokens of a prompt;
 * whose its requests are, and of each one the tokens that are neither computed nor were found cached on its arrival.
 *
 * <p>Conversations begin at random (Poisson), have up to six turns 2 s apart on average (exponential), and begin with
 * one of some common prompts, popular as 1/rank; a turn adds 40 to 300 tokens, an answer 20 to 120. Every turn goes to
 * a router drawn by chance.
 */
final class SimulatedFleet {

    private static final int BLOCK_SIZE = 16;
    /** Its context has room for each conversation on a long document. */
    private static final ModelDescription MODEL = TestWorkers.model("tiny",
            new RevisionParts(SHA_A, SHA_A, SHA_A, SHA_A, "", "sha256_cbor", "0", BLOCK_SIZE, 16_384), 1_000);
    private static final int WORKERS = 8;
    private static final int BLOCKS = 2_000;
    private static final int SEQUENCES = 16;
    private static final int TOKENS_PER_MILLI = 4;
    private static final int STEP_TOKENS = 2_048;
    private static final int MILLIS_PER_ANSWER_TOKEN = 15;
    private static final int EVENT_DELAY_MILLIS = 5;
    private static final int MESSAGE_MILLIS = 2;
    private static final int EARLY_HEARTBEAT_MILLIS = 50;
    private static final int MAX_TURNS = 6;
    private static final double THINK_MILLIS = 2_000;
    private static final int WARM_UP_MILLIS = 20_000;

    private final Random arrivals;
    private final Random balancer;
    private final double millisBetweenConversations;
    private final List<Replica> replicas = new ArrayList<>();
    private final List<Worker> workers = new ArrayList<>();
    private final List<int[]> commonPrompts = new ArrayList<>();
    private final PriorityQueue<Event> events = new PriorityQueue<>();
    private long millis;
    private long eventCount;
    private long promptBlocks;
    private long cachedBlocks;
    private final List<Long> firstTokenMillis = new ArrayList<>();
    private double peakToMean;
    private int samples;

    /**
     * @param conversationsPerSecond that begin
     * @param commonPrompts          with which they begin
     * @param shortestCommon         tokens of these
     * @param longestCommon          likewise
     */
    record Load(double conversationsPerSecond, int commonPrompts, int shortestCommon, int longestCommon) {}

    SimulatedFleet(int routers, Load load, long seed) {
        arrivals = new Random(seed);
        balancer = new Random(seed + 1);
        millisBetweenConversations = 1_000 / load.conversationsPerSecond();
        for (int i = 0; i < WORKERS; i++) {
            workers.add(new Worker("w" + i));
        }
        for (int i = 0; i < routers; i++) {
            replicas.add(new Replica(i));
        }
        for (int i = 0; i < load.commonPrompts(); i++) {
            commonPrompts.add(tokens(arrivals, arrivals.nextInt(load.shortestCommon(), load.longestCommon() + 1)));
        }
    }

    /**
     * What the clients and the workers saw after a warm-up of 20 s.
     *
     * @param hitRate      full prompt blocks found in a cache
     * @param peakToMean   requests at the busiest worker over those of the average one, mean of samples 100 ms apart
     * @param meanMillis   until the first token
     * @param p95Millis    likewise
     */
    record Figures(double hitRate, double peakToMean, double meanMillis, double p95Millis) {}

    Figures run(Duration duration) {
        at(0, this::conversation);
        at(0, this::sample);
        for (int i = 0; i < WORKERS; i++) {
            Worker worker = workers.get(i);
            at(i * 1_000L / WORKERS, () -> heartbeat(worker));
        }
        while (millis < duration.toMillis()) {
            Event next = Objects.requireNonNull(events.poll());
            millis = next.millis();
            next.action().run();
        }
        long[] sorted = firstTokenMillis.stream().mapToLong(Long::longValue).sorted().toArray();
        return new Figures((double) cachedBlocks / promptBlocks, peakToMean / samples,
                Arrays.stream(sorted).average().orElseThrow(), sorted[sorted.length * 95 / 100]);
    }

    private record Event(long millis, long number, Runnable action) implements Comparable<Event> {
        @Override
        public int compareTo(Event other) {
            return millis != other.millis ? Long.compare(millis, other.millis) : Long.compare(number, other.number);
        }
    }

    private void at(double when, Runnable action) {
        events.add(new Event((long) when, eventCount++, action));
    }

    private boolean isWarm() {
        return millis >= WARM_UP_MILLIS;
    }

    // ---- clients

    private void conversation() {
        at(millis + exponential(arrivals, millisBetweenConversations), this::conversation);
        var own = new Random(arrivals.nextLong());
        int[] prompt = concat(commonPrompts.get(popular(own)), tokens(own, 40 + own.nextInt(261)));
        turn(own, prompt, 1 + own.nextInt(MAX_TURNS));
    }

    /** Of rank r with a probability in proportion to 1 / (r + 1). */
    private int popular(Random own) {
        double sum = 0;
        for (int i = 1; i <= commonPrompts.size(); i++) {
            sum += 1.0 / i;
        }
        double drawn = own.nextDouble() * sum;
        int rank = 0;
        while (rank < commonPrompts.size() - 1 && (drawn -= 1.0 / (rank + 1)) > 0) {
            rank++;
        }
        return rank;
    }

    private void turn(Random own, int[] prompt, int turnsLeft) {
        var request = new Request(own, prompt, turnsLeft, balancer.nextInt(replicas.size()));
        Placed placed = replicas.get(request.router).place(request);
        request.placed = placed;
        Worker worker = workers.get(Integer.parseInt(placed.worker().id().substring(1)));
        at(millis + MESSAGE_MILLIS, () -> worker.arrive(request));
    }

    private void ended(Request request) {
        if (request.turnsLeft > 1) {
            Random own = request.own;
            int[] next = concat(request.prompt, tokens(own, request.answerTokens + 40 + own.nextInt(261)));
            at(millis + exponential(own, THINK_MILLIS), () -> turn(own, next, request.turnsLeft - 1));
        }
    }

    private final class Request {
        private static final long NOT_YET = -1;
        /** Of its conversation, so that it goes the same way wherever it is served. */
        private final Random own;
        private final int[] prompt;
        private final BlockHashChain chain;
        private final int turnsLeft;
        private final int router;
        private final int answerTokens;
        private final long arrivedMillis = millis;
        private int uncachedTokens;
        private long prefillMillis = NOT_YET;
        private Placed placed;

        Request(Random own, int[] prompt, int turnsLeft, int router) {
            this.router = router;
            this.own = own;
            this.answerTokens = 20 + own.nextInt(101);
            this.prompt = prompt;
            this.turnsLeft = turnsLeft;
            this.chain = BlockHashChain.of(replicas.getFirst().model.hashSettings(), ExtraKeys.NONE, prompt);
        }

        int pendingTokens() {
            return prefillMillis == NOT_YET ? uncachedTokens
                    : Math.max(0, uncachedTokens - (int) (millis - prefillMillis) * TOKENS_PER_MILLI);
        }
    }

    private static double exponential(Random random, double mean) {
        return -mean * Math.log(1 - random.nextDouble());
    }

    private static int[] tokens(Random random, int count) {
        return random.ints(count, 0, 500).toArray();
    }

    private static int[] concat(int[] first, int[] second) {
        int[] both = Arrays.copyOf(first, first.length + second.length);
        System.arraycopy(second, 0, both, first.length, second.length);
        return both;
    }

    // ---- routers

    /** One router, with a fleet and an index of its own. */
    private final class Replica {
        private final PrefixIndex index = new PrefixIndex();
        private final Fleet fleet =
                new Fleet(index, CHECK, Duration.ofDays(1), WORKERS, () -> millis * 1_000_000, _ -> false);
        private final RouterId id;
        private final RequestRouter router;
        private final Map<String, FleetWorker> members = new HashMap<>();
        private final ServedModel model;

        Replica(int number) {
            id = new RouterId("r" + number);
            router = new RequestRouter(fleet, index, new ExpectedFirstToken(), () -> millis * 1_000_000, id);
            for (Worker worker : workers) {
                var registration = new Registration(Protocol.VERSION, worker.id, 1, URI.create("http://127.0.0.1:9"),
                        MODEL, BLOCKS, SEQUENCES, true);
                FleetWorker member = ((RegistrationOutcome.Accepted) fleet.register(registration)).worker();
                member.events().apply(new KvEventBatch(worker.id, 1, 0, true, List.of(), 0, 0));
                fleet.indexed(member);
                members.put(worker.id, member);
            }
            fleet.modelLoaded(MODEL.revision(), TOKENIZER);
            model = Objects.requireNonNull(fleet.model("tiny"));
        }

        Placed place(Request request) {
            return (Placed) router.route(new TokenizedPrompt(model, request.prompt, request.chain), Set.of());
        }

        void apply(KvEventBatch batch) {
            var outcome = Objects.requireNonNull(members.get(batch.workerId())).events().apply(batch);
            assertThat(outcome).isInstanceOf(ApplyOutcome.Applied.class);
        }
    }

    private void heartbeat(Worker worker) {
        at(millis + 1_000, () -> heartbeat(worker));
        worker.tell();
    }

    private void sample() {
        at(millis + 100, this::sample);
        if (isWarm()) {
            int sum = workers.stream().mapToInt(Worker::requests).sum();
            int most = workers.stream().mapToInt(Worker::requests).max().orElseThrow();
            if (sum > 0) {
                peakToMean += (double) most * WORKERS / sum;
                samples++;
            }
        }
    }

    // ---- workers

    private final class Worker {
        private final String id;
        /** Least recently used first; of a prompt the last block first, so that a parent outlives its children. */
        private final Map<Long, Boolean> cache = new LinkedHashMap<>(16, 0.75f, true);
        private final KeySet announced = new KeySet();
        private final ArrayDeque<Request> waiting = new ArrayDeque<>();
        private final ArrayDeque<Request> prefilling = new ArrayDeque<>();
        private final Set<Request> active = new LinkedHashSet<>();
        private final Map<Long, Integer> held = new HashMap<>();
        private int ownBlocks;
        private int running;
        private long sequence;
        private boolean hasNews;
        private Heartbeat state;

        Worker(String id) {
            this.id = id;
            this.state = heartbeat();
        }

        int requests() {
            return running + waiting.size();
        }

        void arrive(Request request) {
            request.uncachedTokens = request.prompt.length - cachedBlocks(request) * BLOCK_SIZE;
            waiting.add(request);
            boolean betweenSteps = prefilling.isEmpty();
            admit();
            if (betweenSteps) {
                turn();
            }
        }

        /** A step ends, and others see what has become of everybody. */
        private void turn() {
            state = heartbeat();
            tellSoon();
        }

        /** The link looks for news every 50 ms, each worker's at another moment. */
        private void tellSoon() {
            if (replicas.size() > 1 && !hasNews) {
                hasNews = true;
                long phase = workers.indexOf(this) * (long) EARLY_HEARTBEAT_MILLIS / WORKERS;
                long turns = (millis - phase) / EARLY_HEARTBEAT_MILLIS + 1;
                at(turns * EARLY_HEARTBEAT_MILLIS + phase, this::tell);
            }
        }

        void tell() {
            hasNews = false;
            if (prefilling.isEmpty()) {
                state = heartbeat();
            }
            Heartbeat heartbeat = state;
            at(millis + MESSAGE_MILLIS, () -> replicas.forEach(replica ->
                    assertThat(replica.fleet.heartbeat(heartbeat)).isEqualTo(new HeartbeatOutcome.Extended())));
        }

        private void admit() {
            while (!waiting.isEmpty() && running < SEQUENCES) {
                Request request = waiting.remove();
                running++;
                active.add(request);
                ownBlocks++;                                       // the last, partial one
                keys(request).forEach(key -> held.merge(key, 1, Integer::sum));
                prefilling.add(request);
                if (prefilling.size() == 1) {
                    prefill();
                }
            }
        }

        private void prefill() {
            Request request = prefilling.getFirst();
            int cached = cachedBlocks(request);
            request.uncachedTokens = request.prompt.length - cached * BLOCK_SIZE;
            request.prefillMillis = millis;
            if (isWarm()) {
                promptBlocks += request.chain.blockCount();
                cachedBlocks += cached;
            }
            for (int tokens = STEP_TOKENS; tokens < request.uncachedTokens; tokens += STEP_TOKENS) {
                at(millis + tokens / TOKENS_PER_MILLI, this::turn);
            }
            at(millis + Math.ceilDiv(request.uncachedTokens, TOKENS_PER_MILLI), () -> firstToken(request));
        }

        private void firstToken(Request request) {
            prefilling.remove();
            if (isWarm()) {
                firstTokenMillis.add(millis + MESSAGE_MILLIS - request.arrivedMillis);
            }
            at(millis + MESSAGE_MILLIS, () -> request.placed.inFlight().firstToken());
            store(request);
            at(millis + (long) request.answerTokens * MILLIS_PER_ANSWER_TOKEN, () -> end(request));
            if (!prefilling.isEmpty()) {
                prefill();
            }
            turn();
        }

        private void end(Request request) {
            running--;
            ownBlocks--;
            keys(request).forEach(key -> held.computeIfPresent(key, (_, count) -> count == 1 ? null : count - 1));
            active.remove(request);
            at(millis + MESSAGE_MILLIS, () -> {
                request.placed.inFlight().close();
                ended(request);
            });
            admit();
        }

        private int cachedBlocks(Request request) {
            int limit = (request.prompt.length - 1) / BLOCK_SIZE;
            int blocks = 0;
            while (blocks < limit && cache.containsKey(request.chain.key(blocks))) {
                blocks++;
            }
            return blocks;
        }

        private void store(Request request) {
            List<Long> keys = keys(request);
            long[] stored = keys.stream().filter(key -> !cache.containsKey(key)).mapToLong(Long::longValue).toArray();
            keys.reversed().forEach(key -> cache.put(key, true));
            long[] removed = new long[Math.max(0, cache.size() - BLOCKS)];
            var eldest = cache.keySet().iterator();
            for (int i = 0; i < removed.length; i++) {
                removed[i] = eldest.next();
                eldest.remove();
            }
            announce(List.of(new BlockChange.Removed(Medium.DEVICE, removed),
                    new BlockChange.Stored(Medium.DEVICE, stored)));
        }

        private void announce(List<BlockChange> changes) {
            changes.forEach(announced::apply);
            sequence++;
            var batch = new KvEventBatch(id, 1, sequence, false, changes, announced.size(), announced.digest());
            at(millis + EVENT_DELAY_MILLIS, () -> replicas.forEach(replica -> replica.apply(batch)));
        }

        private static List<Long> keys(Request request) {
            List<Long> keys = new ArrayList<>();
            for (int i = 0; i < request.chain.blockCount(); i++) {
                keys.add(request.chain.key(i));
            }
            return keys;
        }

        Heartbeat heartbeat() {
            List<RouterLoad> parts = new ArrayList<>();
            long pendingTokens = 0;
            for (int i = 0; i < replicas.size(); i++) {
                RouterLoad part = part(i);
                if (part != null) {
                    parts.add(part);
                    pendingTokens += part.pendingPromptTokens();
                }
            }
            return new Heartbeat(id, 1, running, waiting.size(), Math.max(0, BLOCKS - held.size() - ownBlocks),
                    pendingTokens, sequence, announced.size(), announced.digest(), false, 0, false,
                    prefilling.size() + waiting.size(), parts);
        }

        private @Nullable RouterLoad part(int router) {
            List<Request> pending = Stream.concat(prefilling.stream(), waiting.stream())
                    .filter(request -> request.router == router).toList();
            long requests = Stream.concat(active.stream(), waiting.stream())
                    .filter(request -> request.router == router).count();
            return requests == 0 ? null : new RouterLoad(replicas.get(router).id, (int) requests, pending.size(),
                    pending.stream().mapToLong(Request::pendingTokens).sum());
        }
    }
}
