package dev.warmpath.benchmarks.prefix;

import dev.warmpath.benchmarks.prefix.PrefixWorld.Member;
import dev.warmpath.router.prefix.PrefixIndex;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Nanoseconds a key for what comes from workers, with size and digest checked after each batch: 100 ns is 10 million
 * keys a second, 250 ns are 4 million. Beside the time on the wall, the processor time is printed at the end.
 * <pre>
 *   java -cp benchmarks/target/classes:$(cat benchmarks/target/classpath) \
 *        org.openjdk.jmh.Main prefix.PrefixApplyBenchmark
 * </pre>
 */
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = PrefixApplyBenchmark.WARMUPS)
@Measurement(iterations = 5)
@Fork(value = 1, jvmArgsAppend = {"-Xms4g", "-Xmx4g"})
public class PrefixApplyBenchmark {

    static final int WARMUPS = 3;
    private static final int FOLLOWERS = 4;
    private static final int CHANGES = 16 * 1_024 * ChangeStream.CHANGES_PER_BATCH;
    private static final int PAIRS = PrefixWorld.WORKERS * PrefixWorld.BLOCKS_PER_WORKER;

    /** A full index and batches for it. */
    @State(Scope.Thread)
    public static class Full {
        @Param
        public Distribution distribution = Distribution.DISTINCT;
        private @Nullable ChangeStream stream;
        private final List<ChangeStream.Turn> turns = new ArrayList<>();
        /** The same turns; all of one worker are in one share. */
        private final List<List<ChangeStream.Turn>> shares = new ArrayList<>();
        private final ProcessorTime processor = new ProcessorTime(CHANGES);

        @Setup
        public void fill() {
            var world = new PrefixWorld(distribution);
            stream = new ChangeStream(world, world.load(new PrefixIndex()));
        }

        @Setup(Level.Invocation)
        public void prepare() {
            turns.clear();
            shares.clear();
            for (int i = 0; i < FOLLOWERS; i++) {
                shares.add(new ArrayList<>());
            }
            ChangeStream changes = Objects.requireNonNull(stream);
            for (int i = 0; i < CHANGES; i += ChangeStream.CHANGES_PER_TURN) {
                turns.add(changes.next());
                shares.get(changes.worker() % FOLLOWERS).add(turns.getLast());
            }
        }

        @TearDown
        public void report() {
            processor.report();
        }
    }

    /** An empty index and a snapshot for each worker. */
    @State(Scope.Thread)
    public static class Empty {
        @Param
        public Distribution distribution = Distribution.DISTINCT;
        private @Nullable PrefixWorld world;
        private final List<ChangeStream.Turn> snapshots = new ArrayList<>();
        private final ProcessorTime processor = new ProcessorTime(PAIRS);

        @Setup
        public void make() {
            world = new PrefixWorld(distribution);
        }

        @Setup(Level.Invocation)
        public void prepare() {
            var index = new PrefixIndex();
            snapshots.clear();
            for (long[] keys : Objects.requireNonNull(world).keys) {
                var member = new Member(index);
                snapshots.add(new ChangeStream.Turn(member, List.of(member.snapshot(keys))));
            }
            System.gc();                                           // the last index goes before the clock starts
        }

        @TearDown
        public void report() {
            processor.report();
        }
    }

    /** What the benchmark's thread itself used, which does not run on while others have the core. */
    private static final class ProcessorTime {
        private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        private final int keys;
        private final List<Double> nanosPerKey = new ArrayList<>();

        ProcessorTime(int keys) {
            this.keys = keys;
        }

        void measure(Runnable work) {
            long before = threads.getCurrentThreadCpuTime();
            work.run();
            nanosPerKey.add((double) (threads.getCurrentThreadCpuTime() - before) / keys);
        }

        void report() {
            List<Double> measured = nanosPerKey.stream().skip(WARMUPS).sorted().toList();
            if (!measured.isEmpty()) {
                System.out.printf("%nprocessor time: %.0f ns a key, the median of %d%n",
                        measured.get(measured.size() / 2), measured.size());
            }
        }
    }

    /** A key stored or removed, half of each. */
    @Benchmark
    @OperationsPerInvocation(CHANGES)
    public void mixedChanges(Full index) {
        index.processor.measure(() -> index.turns.forEach(ChangeStream.Turn::apply));
    }

    /** The same by four followers at once, who wait for each other: a key's share of the time until all are done. */
    @Benchmark
    @OperationsPerInvocation(CHANGES)
    public void mixedChangesOfFourFollowers(Full index) throws InterruptedException {
        List<Thread> followers = new ArrayList<>();
        for (List<ChangeStream.Turn> share : index.shares) {
            followers.add(Thread.ofPlatform().start(() -> share.forEach(ChangeStream.Turn::apply)));
        }
        for (Thread follower : followers) {
            follower.join();
        }
    }

    /** A key of a snapshot. */
    @Benchmark
    @OperationsPerInvocation(PAIRS)
    public void snapshots(Empty index) {
        index.processor.measure(() -> index.snapshots.forEach(ChangeStream.Turn::apply));
    }
}
