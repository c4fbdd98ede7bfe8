package dev.warmpath.benchmarks.prefix;

import dev.warmpath.benchmarks.prefix.ConversationWorld.Asked;
import dev.warmpath.benchmarks.prefix.ConversationWorld.Segment;
import dev.warmpath.benchmarks.prefix.ConversationWorld.Shape;
import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.router.prefix.PrefixIndex;
import dev.warmpath.router.prefix.PrefixMatch;
import java.io.IOException;
import java.lang.ref.Reference;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The index in one {@link ConversationWorld}, row by row: {@code benchmarks/index-peers} asks the same of other
 * routers' indexes, in the world that this program writes, and prints the same sums over all answers. Each call is
 * timed by itself, the clock's own cost included, and asks for a chain drawn at random whose keys were read just
 * before, as a router has just computed them. The heap is touched before, else the first rows pay for its page faults.
 * <pre>
 *   java -Xms6g -Xmx6g -XX:+AlwaysPreTouch -cp benchmarks/target/classes:$(cat benchmarks/target/classpath) \
 *        dev.warmpath.benchmarks.prefix.IndexRows HUNDRED hundred.world
 * </pre>
 */
public final class IndexRows {

    private static final int KEYS_PER_EVENT = 16;
    private static final int TIMED_EVENTS = 100_000;
    /** Batches are made before the clock starts, so many at a time that they are not all still in the cache. */
    private static final int PREPARED_EVENTS = 4_096;
    private static final int CONVERSATIONS_PREPARED = 64;
    /** Of all questions of a row: those for long chains are fewer. */
    private static final int ASKED_BLOCKS = 51_200_000;
    private static final int FEWEST_CALLS = 20_000;

    private final ConversationWorld world;
    private final SplittableRandom random = new SplittableRandom(1);
    private final PrefixIndex index = new PrefixIndex();
    private final Announcer[] workers;
    private final int calls;
    private long seen;

    private IndexRows(ConversationWorld world) {
        this.world = world;
        workers = announcers(index);
        calls = Math.max(FEWEST_CALLS, ASKED_BLOCKS / world.shape.chainBlocks);
    }

    public static void main(String[] arguments) throws Exception {
        var world = new ConversationWorld(Shape.valueOf(arguments[0]));
        if (arguments.length > 1) {
            write(world, Path.of(arguments[1]));
        }
        new IndexRows(world).run();
    }

    private static void write(ConversationWorld world, Path file) throws IOException {
        world.write(file);
        System.out.println("written to " + file);
    }

    private void run() throws InterruptedException {
        System.out.printf("%s: %d workers of %d blocks, %d conversations of %d%n", world.shape, world.shape.workers,
                world.shape.blocksPerWorker, world.chains(Asked.WHOLE).length, world.shape.chainBlocks);
        fillFromSnapshots();
        fillFromEvents();
        for (Asked kind : Asked.values()) {
            System.out.printf("sum of answers, %-8s %d%n", kind, sumOfAnswers(kind));
        }
        Timings.printHeader("questions");
        clock().print("the clock", 1);
        for (Asked kind : Asked.values()) {
            ask(kind, this::match, 1).print(kind + ", match", 1);
            ask(kind, this::matchAndBest, 2).print(kind + ", match and best worker", 1);
        }
        askByTwo().print("WHOLE, match, by two threads at once", 1);
        askBesideWriter();
        Timings.printHeader("changes, a block");
        change(KEYS_PER_EVENT, TIMED_EVENTS / 10, false);
        change(KEYS_PER_EVENT, TIMED_EVENTS, true);
        change(1, TIMED_EVENTS / 2, false);
        change(1, TIMED_EVENTS, true);
        System.out.println("seen " + seen);
    }

    private Announcer[] announcers(PrefixIndex of) {
        var made = new Announcer[world.shape.workers];
        Arrays.setAll(made, i -> new Announcer(of, 3 * world.shape.blocksPerWorker));
        return made;
    }

    // ---- filling

    private void fillFromSnapshots() {
        double nanos = 0;
        for (int round = 0; round < 3; round++) {                  // the last one counts: by then the code is compiled
            var filled = new PrefixIndex();
            Announcer[] to = announcers(filled);
            System.gc();
            nanos = 0;
            for (int worker = 0; worker < to.length; worker++) {
                KvEventBatch snapshot = to[worker].snapshot(world.keysOf(worker));
                long start = System.nanoTime();
                to[worker].apply(snapshot);
                nanos += System.nanoTime() - start;
            }
        }
        System.out.printf("filled from snapshots: %.0f ns a block%n", nanos / world.pairs());
    }

    private void fillFromEvents() {
        var tried = new PrefixIndex();
        fill(announcers(tried), world.segments.size() / 5);        // until the code is compiled
        long before = usedBytes();
        double nanos = fill(workers, world.segments.size());
        System.out.printf("filled from events of %d: %.0f ns a block%n", KEYS_PER_EVENT, nanos / world.pairs());
        System.out.printf("bytes a pair: %.2f live, %.2f by its own account, %d keys, %d sets of holders%n",
                (double) (usedBytes() - before) / world.pairs(), (double) index.stats().bytes() / world.pairs(),
                index.stats().keys(), index.stats().holderSets());
        Reference.reachabilityFence(tried);
    }

    private double fill(Announcer[] to, int segmentCount) {
        var prepared = new PreparedBatches();
        double nanos = 0;
        for (Announcer worker : to) {
            worker.apply(worker.snapshot(new long[0]));
        }
        for (Segment segment : world.segments.subList(0, segmentCount)) {
            for (int holder : segment.holders()) {
                prepared.store(to[holder], segment.keys(), KEYS_PER_EVENT);
                if (prepared.count() >= PREPARED_EVENTS) {
                    nanos += prepared.apply();
                }
            }
        }
        return nanos + prepared.apply();
    }

    private static long usedBytes() {
        Runtime runtime = Runtime.getRuntime();
        long used = Long.MAX_VALUE;
        for (int i = 0; i < 3; i++) {
            System.gc();
            used = Math.min(used, runtime.totalMemory() - runtime.freeMemory());
        }
        return used;
    }

    // ---- questions

    /** What is done with a chain while the clock runs. @return something of the answer, so that it is not left out */
    private interface Question {
        long ask(BlockHashChain chain);
    }

    /** Reads one worker, whichever it is: an answer may be worked out only as far as it is read. */
    private long match(BlockHashChain chain) {
        return index.match(chain, Integer.MAX_VALUE).blocks(workers[0].keys);
    }

    private long matchAndBest(BlockHashChain chain) {
        PrefixMatch match = index.match(chain, Integer.MAX_VALUE);
        int best = 0;
        int most = 0;
        for (int worker = 0; worker < workers.length; worker++) {
            int blocks = match.blocks(workers[worker].keys);
            if (blocks > most) {
                most = blocks;
                best = worker;
            }
        }
        return (long) most * workers.length + best;
    }

    private long sumOfAnswers(Asked kind) {
        long sum = 0;
        for (BlockHashChain chain : world.chains(kind)) {
            PrefixMatch match = index.match(chain, Integer.MAX_VALUE);
            for (int worker = 0; worker < workers.length; worker++) {
                sum += (long) match.blocks(workers[worker].keys) * (worker + 1);
            }
        }
        return sum;
    }

    private Timings ask(Asked kind, Question question, long seed) {
        var order = new SplittableRandom(seed);
        ask(kind, question, order, new Timings());
        var timings = new Timings();
        seen += ask(kind, question, order, timings);
        return timings;
    }

    private long ask(Asked kind, Question question, SplittableRandom order, Timings timings) {
        BlockHashChain[] chains = world.chains(kind);
        long answers = 0;
        for (int i = 0; i < calls; i++) {
            BlockHashChain chain = chains[order.nextInt(chains.length)];
            for (int block = 0; block < chain.blockCount(); block++) {
                answers += chain.key(block);
            }
            long start = System.nanoTime();
            answers += question.ask(chain);
            timings.add(System.nanoTime() - start);
        }
        return answers;
    }

    private static Timings clock() {
        var timings = new Timings();
        for (int i = 0; i < 1_000_000; i++) {
            long start = System.nanoTime();
            timings.add(System.nanoTime() - start);
        }
        return timings;
    }

    private Timings askByTwo() throws InterruptedException {
        var second = new Timings();
        var secondSeen = new AtomicLong();
        Thread other = Thread.ofPlatform().start(() ->
                secondSeen.set(ask(Asked.WHOLE, this::match, new SplittableRandom(4), second)));
        var both = new Timings();
        seen += ask(Asked.WHOLE, this::match, new SplittableRandom(3), both);
        other.join();
        seen += secondSeen.get();
        both.addAll(second);
        return both;
    }

    private void askBesideWriter() throws InterruptedException {
        var stopped = new AtomicBoolean();
        var rate = new AtomicLong();
        Thread writer = Thread.ofPlatform().start(() -> rate.set(writeUntil(stopped)));
        ask(Asked.WHOLE, this::match, 5).print("WHOLE, match, beside a writer", 1);
        ask(Asked.WHOLE, this::matchAndBest, 6).print("WHOLE, match and best worker, beside a writer", 1);
        stopped.set(true);
        writer.join();
        System.out.printf("the writer: %.2f million blocks a second%n", rate.get() / 1e6);
    }

    // ---- changes

    /** Conversations come and go as fast as it can make their events. @return blocks a second */
    private long writeUntil(AtomicBoolean stopped) {
        var own = new SplittableRandom(11);
        var prepared = new PreparedBatches();
        long blocks = 0;
        long start = System.nanoTime();
        while (!stopped.get()) {
            Announcer worker = workers[own.nextInt(workers.length)];
            long[] keys = own.longs(world.shape.turnBlocks()).toArray();
            prepared.store(worker, keys, KEYS_PER_EVENT);
            prepared.remove(worker, keys, KEYS_PER_EVENT);
            prepared.apply();
            blocks += 2L * keys.length;
        }
        return (long) (blocks * 1e9 / (System.nanoTime() - start));
    }

    /** One that comes and goes. */
    private record Conversation(Announcer worker, long[] keys) {}

    private void change(int keysPerEvent, int events, boolean counts) {
        List<Conversation> conversations = new ArrayList<>();
        for (int made = 0; made < events * keysPerEvent; made += world.shape.turnBlocks()) {
            conversations.add(new Conversation(workers[random.nextInt(workers.length)],
                    random.longs(world.shape.turnBlocks()).toArray()));
        }
        var stored = new Timings();
        var prepared = new PreparedBatches();
        for (int from = 0; from < conversations.size(); from += CONVERSATIONS_PREPARED) {
            for (Conversation each : part(conversations, from)) {
                prepared.store(each.worker, each.keys, keysPerEvent);
            }
            prepared.apply(stored);
        }
        shuffle(conversations);
        var removed = new Timings();
        for (int from = 0; from < conversations.size(); from += CONVERSATIONS_PREPARED) {
            for (Conversation each : part(conversations, from)) {
                prepared.remove(each.worker, each.keys, keysPerEvent);
            }
            prepared.apply(removed);
        }
        if (counts) {
            stored.print("stored in events of " + keysPerEvent, keysPerEvent);
            removed.print("removed in events of " + keysPerEvent, keysPerEvent);
        }
    }

    private static List<Conversation> part(List<Conversation> conversations, int from) {
        return conversations.subList(from, Math.min(conversations.size(), from + CONVERSATIONS_PREPARED));
    }

    private void shuffle(List<Conversation> conversations) {
        for (int i = conversations.size() - 1; i > 0; i--) {
            conversations.set(i, conversations.set(random.nextInt(i + 1), conversations.get(i)));
        }
    }
}
