package dev.warmpath.router.fleetlink;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.EventFrames;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.event.KvEventCodec;
import dev.warmpath.protocol.event.Medium;
import dev.warmpath.protocol.fleet.Backoff;
import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.protocol.fleet.ModelDescription;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.protocol.fleet.RevisionParts;
import dev.warmpath.router.fleet.EventSource;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleet.RegistrationCheck;
import dev.warmpath.router.fleet.RegistrationOutcome;
import dev.warmpath.router.fleetlink.log.EventLog;
import dev.warmpath.router.fleetlink.log.LogInbox;
import dev.warmpath.router.fleetlink.log.LogState;
import dev.warmpath.router.fleetlink.stream.StreamSignal;
import dev.warmpath.router.metrics.RouterMetrics;
import dev.warmpath.router.prefix.KvEventApplier;
import dev.warmpath.router.prefix.PrefixIndex;
import dev.warmpath.router.prefix.PrefixMatch;
import dev.warmpath.router.prefix.SyncState;
import dev.warmpath.router.prefix.WorkerKeys;
import dev.warmpath.worker.routerlink.KvEventPublisher;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Three workers, a wire that can do anything but invent keys, and one router's index; 20 to 60 random events, then
 * quiet. The workers' publishers, the encoding, the router's fleet, the log's inboxes, the copies and the index are the
 * real ones, and so is the {@link Follower} that decides for each of them. This class is the network and the clock that
 * the followers are told of, and does what they say, as {@link WorkerLink} does, but not always at once.
 *
 * <p>The blocks are the prefixes of 32 prompts of five blocks, a binary tree of 62, and two keys that no prompt asks
 * for, 0 and -1. Two workers announce a block only while they announce its parent; the third does as it likes.
 */
final class IndexWorld {

    /** What can happen between quiet and quiet. The number is how often, in proportion. */
    enum Event {
        PUBLISH(36), DELIVER(24), DROP(7), DUPLICATE(4), SWAP(7), REPLAY(5), GARBLE(2), LOSE_TAIL(3), BREAK_STREAM(2),
        LOSE_REDIS(3), CHECKPOINT(4), FIND_REDIS(3), NEW_ROUTER(1), HEARTBEAT(4), RESTART(2), SWEEP(2);

        private final int weight;

        Event(int weight) {
            this.weight = weight;
        }
    }

    /** How often what is hard to reach was reached; over all worlds that share it, on several threads. */
    static final class Reached {
        final Map<Event, LongAdder> events = new ConcurrentHashMap<>();
        private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
        private final RouterMetrics metrics = new RouterMetrics(meters);
        final LongAdder ignoredCheckpoints = new LongAdder();
        final LongAdder strangers = new LongAdder();
        /** Of the log, found by a heartbeat. */
        final LongAdder lostTails = new LongAdder();
        /** By the log, from the worker's own stream. */
        final LongAdder takeovers = new LongAdder();

        /** What the router counted itself. */
        long counted(String meter, String... tags) {
            return (long) meters.get(meter).tags(tags).counter().count();
        }
    }

    private static final RegistrationCheck CHECK = new RegistrationCheck(false, () -> Instant.EPOCH);
    private static final RevisionParts PARTS =
            new RevisionParts("", "", /* tokenizer */ "a".repeat(64), "", "", "sha256_cbor", "0", /* block */ 1, 64);
    private static final ModelDescription MODEL = new ModelDescription("tiny", PARTS.revision(), PARTS, 0, 32);
    private static final long LONGER_THAN_ANY_LAG_NANOS = 2_000_000_001L;
    private static final long LONGEST_PAUSE_NANOS = 500_000_000L;
    private static final long LONGEST_CONNECT_NANOS = 1_000_000_000L;

    private static final int DEPTH = 5;
    private static final int PROMPTS = 1 << DEPTH;
    /** Blocks of depth d (1 to 5) begin at 2^d - 2, in the order of the prompts; the last two are in no prompt. */
    private static final int KEYS = 2 * PROMPTS;
    private static final BlockHashChain[] CHAINS = new BlockHashChain[PROMPTS];
    private static final long[] KEY = new long[KEYS];
    private static final int TOTAL_WEIGHT = Arrays.stream(Event.values()).mapToInt(event -> event.weight).sum();

    static {
        for (int prompt = 0; prompt < PROMPTS; prompt++) {
            int[] tokens = new int[DEPTH];
            for (int i = 0; i < DEPTH; i++) {
                tokens[i] = prompt >> (DEPTH - 1 - i) & 1;
            }
            CHAINS[prompt] = BlockHashChain.of(HashSettings.ofBlockSize(1), ExtraKeys.NONE, tokens);
            for (int depth = 1; depth <= DEPTH; depth++) {
                KEY[block(prompt, depth)] = CHAINS[prompt].key(depth - 1);
            }
        }
        KEY[KEYS - 1] = -1;                                        // and the one before is 0
    }

    private final Random random;
    private final Reached reached;
    private long now;
    private PrefixIndex index = new PrefixIndex();
    private Fleet fleet = fleet();
    private EventLog events = new EventLog(/* awaited */ true, 8, () -> now);
    private final List<Worker> workers;

    IndexWorld(long seed, Reached reached) {
        this.random = new Random(seed * 0x9E3779B97F4A7C15L);      // seeds in a row would begin alike
        this.reached = reached;
        this.workers = List.of(new Worker("a", true), new Worker("b", true), new Worker("c", false));
    }

    private Fleet fleet() {
        return new Fleet(index, CHECK, Duration.ofDays(1), 3, () -> now, _ -> false);
    }

    void run() throws InterruptedException {
        for (int i = 20 + random.nextInt(41); i > 0; i--) {
            happen(event(), workers.get(random.nextInt(workers.size())));
        }
        for (Worker worker : workers) {
            worker.settle();
        }
        check();
    }

    private Event event() {
        int drawn = random.nextInt(TOTAL_WEIGHT);
        for (Event event : Event.values()) {
            drawn -= event.weight;
            if (drawn < 0) {
                return event;
            }
        }
        throw new AssertionError("the weights do not add up");
    }

    private void happen(Event event, Worker worker) throws InterruptedException {
        now += random.nextLong(LONGEST_PAUSE_NANOS);
        reached.events.computeIfAbsent(event, _ -> new LongAdder()).increment();
        List<byte[]> wire = worker.wire();
        int at = wire.isEmpty() ? 0 : random.nextInt(wire.size());
        switch (event) {
            case PUBLISH -> worker.publish();
            case DELIVER -> worker.deliver(1 + random.nextInt(4));
            case DROP -> wire.subList(at, Math.min(at + 1, wire.size())).clear();
            case DUPLICATE -> wire.addAll(at, List.copyOf(wire.subList(at, Math.min(at + 1, wire.size()))));
            case SWAP -> {
                if (wire.size() > 1) {
                    Collections.swap(wire, at, random.nextInt(wire.size()));
                }
            }
            case REPLAY -> {
                List<byte[]> old = random.nextBoolean() ? workers.get(random.nextInt(3)).log : worker.log;
                if (!old.isEmpty()) {
                    wire.add(at, old.get(random.nextInt(old.size())));
                }
            }
            case GARBLE -> {
                if (!wire.isEmpty()) {
                    wire.set(at, garbled(wire.get(at)));
                }
            }
            case LOSE_TAIL -> wire.subList(at, wire.size()).clear();
            case BREAK_STREAM -> worker.breakStream();
            case LOSE_REDIS -> worker.loseRedis();
            case CHECKPOINT -> worker.writeCheckpoint();
            case FIND_REDIS -> worker.findRedis();
            case NEW_ROUTER -> {
                index = new PrefixIndex();
                fleet = fleet();
                events = new EventLog(/* awaited */ true, 8, () -> now);
                workers.forEach(Worker::join);
                for (Worker each : workers) {
                    each.findRedis();
                }
            }
            case HEARTBEAT -> {
                worker.beat();
                worker.turn();
            }
            case RESTART -> worker.start();
            case SWEEP -> index.sweep();
        }
    }

    /** One that says another block was stored and another removed, which may leave their number as it was. */
    private byte[] garbled(byte[] bytes) {
        KvEventBatch batch = KvEventCodec.decode(bytes);
        List<BlockChange> changes = new ArrayList<>(batch.changes());
        changes.add(new BlockChange.Stored(Medium.DEVICE, new long[] {KEY[random.nextInt(KEYS)]}));
        changes.add(new BlockChange.Removed(Medium.DEVICE, new long[] {KEY[random.nextInt(KEYS)]}));
        return KvEventCodec.encode(new KvEventBatch(batch.workerId(), batch.epoch(), batch.sequence(),
                batch.snapshot(), changes, batch.setSize(), batch.setDigest()));
    }

    // ---- what must be true in the end

    private void check() {
        while (random.nextBoolean() && index.sweep()) { }          // swept or not, nobody may see a difference
        for (int block = 0; block < KEYS; block++) {
            Set<WorkerKeys> holders = new HashSet<>();
            for (Worker worker : workers) {
                expect(index.holds(worker.joined.keys(), KEY[block]), worker.held[block], "block", block, worker);
                if (worker.held[block]) {
                    holders.add(worker.joined.keys());
                }
            }
            expect(Set.copyOf(index.holders(KEY[block])), holders, "holders of block", block, null);
        }
        for (Worker worker : workers) {
            expect(worker.joined.keys().size(), worker.publisher.state().setSize(), "size", 0, worker);
            expect(worker.joined.keys().digest(), worker.publisher.state().setDigest(), "digest", 0, worker);
            expect(worker.joined.isIndexed(), true, "is in the index", 0, worker);
            expect(worker.joined.behindBatches(), 0L, "missing batches", 0, worker);
        }
        int maxBlocks = 1 + random.nextInt(DEPTH + 1);
        for (int prompt = 0; prompt < PROMPTS; prompt++) {
            PrefixMatch match = index.match(CHAINS[prompt], maxBlocks);
            for (Worker worker : workers) {
                expect(match.blocks(worker.joined.keys()), Math.min(maxBlocks, worker.leadingBlocks(prompt)),
                        "leading blocks of prompt", prompt, worker);
            }
        }
    }

    /** Says what differs only if it does: there are 300 of these to a world. */
    private static void expect(Object actual, Object expected, String what, int number, @Nullable Worker worker) {
        if (!actual.equals(expected)) {
            throw new AssertionError(what + " " + number + (worker == null ? "" : " at worker " + worker.id)
                    + ": index " + actual + ", workers " + expected);
        }
    }

    // ---- one worker, and what the router has of it

    private final class Worker {
        private final String id;
        private final boolean prefixClosed;
        private KvEventPublisher publisher;
        private final boolean[] held = new boolean[KEYS];
        /** Every batch of every life, as Redis would keep them. */
        private final List<byte[]> log = new ArrayList<>();
        private byte @Nullable [] checkpoint;
        private int logAtCheckpoint;
        /** In Redis and not yet read by the router. */
        private final List<byte[]> unread = new ArrayList<>();
        /** On their way to the router by the worker's own stream, if there is one. */
        private final List<byte[]> frames = new ArrayList<>();
        private boolean streams;
        private boolean broken;
        private LogState redis = LogState.FRESH;
        private FleetWorker joined;
        private WorkerCopy copy;
        private LogInbox inbox;
        private Follower follower;
        private LinkAction action;
        private long pausedUntil;

        Worker(String id, boolean prefixClosed) {
            this.id = id;
            this.prefixClosed = prefixClosed;
            this.publisher = new KvEventPublisher(id, /* epoch */ 0);
            start();
        }

        /** A new life, which the router is told of at once; what the last one sent may still be on its way. */
        void start() {
            Arrays.fill(held, false);
            publisher = new KvEventPublisher(id, publisher.epoch() + 1);
            join();
            publisher.subscribe(frame -> {
                byte[] batch = payload(frame);
                if (!KvEventCodec.decode(batch).snapshot()) {
                    log.add(batch);
                    unread.add(batch);
                    if (streams) {
                        frames.add(batch);
                    }
                }
                return true;
            });
        }

        void join() {
            var registration = new Registration(Protocol.VERSION, id, publisher.epoch(),
                    URI.create("http://127.0.0.1:9"), MODEL, KEYS, /* maxSequences */ 8, prefixClosed);
            if (joined != null) {
                events.close(joined, inbox);
            }
            joined = ((RegistrationOutcome.Accepted) fleet.register(registration)).worker();
            inbox = events.open(joined);
            copy = new WorkerCopy(fleet, joined, reached.metrics);
            follower = new Follower(joined, inbox, Backoff.ofLink(random));
            closeStream();
            tell(new LinkEvent.Begun());
        }

        void publish() {
            List<BlockChange> changes = new ArrayList<>();
            for (int i = random.nextInt(3); i >= 0; i--) {
                changes.add(change());
            }
            publisher.publish(changes);
        }

        private BlockChange change() {
            int kind = random.nextInt(20);
            if (kind == 0) {
                Arrays.fill(held, false);
                return new BlockChange.Cleared();
            }
            boolean store = kind <= 12;
            List<Integer> blocks = new ArrayList<>();
            if (random.nextInt(8) == 0) {
                blocks.add(KEYS - 1 - random.nextInt(2));
            } else if (prefixClosed) {
                int prompt = random.nextInt(PROMPTS);
                int depth = 1 + random.nextInt(DEPTH);
                blocks.addAll(store ? prefix(prompt, depth) : subtree(prompt, depth));
            } else {
                random.ints(1 + random.nextInt(6), 0, KEYS).forEach(blocks::add);
            }
            blocks.forEach(block -> held[block] = store);
            long[] keys = blocks.stream().mapToLong(block -> KEY[block]).toArray();
            return store ? new BlockChange.Stored(Medium.DEVICE, keys) : new BlockChange.Removed(Medium.DEVICE, keys);
        }

        /** Of the live worker: what is held after the last batch. */
        byte[] snapshot() {
            List<byte[]> taken = new ArrayList<>(1);
            publisher.subscribe(frame -> {
                taken.add(payload(frame));
                return false;
            });
            return taken.getFirst();
        }

        void writeCheckpoint() {
            checkpoint = snapshot();
            logAtCheckpoint = log.size();
        }

        // ---- the network, as this worker's link finds it

        /** The way that batches take now. */
        List<byte[]> wire() {
            return streams ? frames : unread;
        }

        void loseRedis() throws InterruptedException {
            redis = LogState.LOST;
            turn();
        }

        /** With a checkpoint and what was written since, whatever the copy holds by now. */
        void findRedis() throws InterruptedException {
            if (checkpoint != null) {
                handOut(KvEventCodec.decode(checkpoint));
                unread.clear();
                unread.addAll(log.subList(logAtCheckpoint, log.size()));
            }
            redis = LogState.FRESH;
            turn();
        }

        void openStream() {
            closeStream();
            streams = true;
            frames.add(snapshot());
        }

        void closeStream() {
            streams = false;
            broken = false;
            frames.clear();
        }

        void breakStream() throws InterruptedException {
            broken = streams;
            follow(0);
        }

        /** So much of what is on its way arrives, by either way, and the link's thread runs. */
        void deliver(int count) throws InterruptedException {
            for (int i = 0; i < count && !unread.isEmpty() && redis != LogState.LOST; i++) {
                handOut(KvEventCodec.decode(unread.removeFirst()));
            }
            follow(count);
        }

        private void handOut(KvEventBatch batch) {
            LogInbox addressed = events.inbox(batch.workerId(), batch.epoch());
            if (addressed != null) {
                addressed.put(batch);
            }
        }

        // ---- the link: does what its follower says

        private void tell(LinkEvent event) {
            if (joined.isGone()) {                                 // it registers again when its heartbeat is refused
                reached.strangers.increment();
                join();
                return;
            }
            LinkAction.Step step = follower.next(event, redis, now);
            step.news().forEach(this::tell);
            action = step.action();
            if (streams && joined.eventSource() == EventSource.DIRECT && action instanceof LinkAction.ReadLog) {
                reached.takeovers.increment();
            }
            pausedUntil = now + switch (action) {
                case LinkAction.Pause(var pause) -> pause.toNanos();
                case LinkAction.OpenStream(var pause) -> pause.toNanos()
                        + (random.nextBoolean() ? 0 : random.nextLong(LONGEST_CONNECT_NANOS));
                case LinkAction.ReadLog _, LinkAction.ReadStream _, LinkAction.Apply _ -> 0;
            };
        }

        private void tell(LinkAction.News news) {
            switch (news) {
                case LinkAction.News.Drifted drift ->
                        throw new AssertionError("the copy of " + id + " went wrong unseen: " + drift);
                case LinkAction.News.Silent _ -> { }               // it answers whoever asks
                default -> copy.tell(news);
            }
            if (news instanceof LinkAction.News.Followed(var _, var why) && why != null) {
                reached.lostTails.increment();
            }
        }

        /** Until it waits for more than is there. */
        private void follow(int frameCount) throws InterruptedException {
            for (int left = frameCount; true; ) {
                LinkEvent event = switch (action) {
                    case LinkAction.Apply(var batch, var source) -> {
                        copy.apply(batch, source, now);
                        yield new LinkEvent.Applied();
                    }
                    case LinkAction.ReadLog _ -> {
                        closeStream();
                        KvEventBatch batch = inbox.poll(Duration.ZERO);
                        if (batch != null && batch.snapshot() && !isEmpty()) {
                            reached.ignoredCheckpoints.increment();
                        }
                        yield batch == null ? null : new LinkEvent.LogTurn(batch);
                    }
                    case LinkAction.ReadStream _ -> {
                        if (broken) {
                            yield new LinkEvent.StreamRead(
                                    new StreamSignal.Ended(StreamSignal.Reason.BROKEN, "connection reset"));
                        }
                        yield left-- > 0 && !frames.isEmpty()
                                ? frame(KvEventCodec.decode(frames.removeFirst())) : null;
                    }
                    case LinkAction.Pause _ -> now < pausedUntil ? null : new LinkEvent.Paused();
                    case LinkAction.OpenStream _ -> {
                        if (now < pausedUntil) {
                            yield null;
                        }
                        openStream();
                        left += random.nextInt(2);                 // the snapshot comes at once, or later
                        yield new LinkEvent.StreamOpened();
                    }
                };
                if (event == null) {
                    return;
                }
                tell(event);
            }
        }

        private static LinkEvent frame(@Nullable KvEventBatch batch) {
            return new LinkEvent.StreamRead(new StreamSignal.Frame(batch));
        }

        /** What is waited for does not come in time; a stream that is silent gives a sign of life. */
        void turn() throws InterruptedException {
            follow(0);
            switch (action) {
                case LinkAction.ReadLog _ -> tell(new LinkEvent.LogTurn(null));
                case LinkAction.ReadStream _ -> {
                    if (frames.isEmpty()) {
                        tell(frame(null));
                    }
                }
                case LinkAction.Pause _, LinkAction.OpenStream _, LinkAction.Apply _ -> { }
            }
            follow(0);
        }

        void beat() {
            KvEventPublisher.State state = publisher.state();
            fleet.heartbeat(new Heartbeat(id, publisher.epoch(), 0, 0, KEYS, 0,
                    state.lastSequence(), state.setSize(), state.setDigest()));
        }

        /** All that is on its way arrives, and heartbeats after it; two snapshots at most make good what was lost. */
        void settle() throws InterruptedException {
            for (int attempt = 0; attempt < 4; attempt++) {
                deliver(Integer.MAX_VALUE);
                beat();
                if (!isEmpty() && joined.syncState() instanceof SyncState.InStep) {
                    return;
                }
                now += LONGER_THAN_ANY_LAG_NANOS + LONGEST_CONNECT_NANOS;   // what is late by now will not come
                turn();
            }
            throw new AssertionError("the copy of " + id + " is " + joined.syncState() + " after four heartbeats");
        }

        private boolean isEmpty() {
            return joined.events().position().sequence() == KvEventApplier.NO_SEQUENCE;
        }

        int leadingBlocks(int prompt) {
            int depth = 0;
            while (depth < DEPTH && held[block(prompt, depth + 1)]) {
                depth++;
            }
            return depth;
        }
    }

    // ---- blocks

    private static int block(int prompt, int depth) {
        return (1 << depth) - 2 + (prompt >> (DEPTH - depth));
    }

    /** Parents first. */
    private static List<Integer> prefix(int prompt, int depth) {
        List<Integer> blocks = new ArrayList<>();
        for (int i = 1; i <= depth; i++) {
            blocks.add(block(prompt, i));
        }
        return blocks;
    }

    /** The prompt's block of that depth and all below it, children first. */
    private static List<Integer> subtree(int prompt, int depth) {
        List<Integer> blocks = new ArrayList<>();
        for (int i = DEPTH; i >= depth; i--) {
            int first = block(prompt >> (DEPTH - depth) << (DEPTH - depth), i);
            for (int k = 0; k < 1 << (i - depth); k++) {
                blocks.add(first + k);
            }
        }
        return blocks;
    }

    private static byte[] payload(byte[] frame) {
        return Arrays.copyOfRange(frame, EventFrames.HEADER_BYTES, frame.length);
    }
}
