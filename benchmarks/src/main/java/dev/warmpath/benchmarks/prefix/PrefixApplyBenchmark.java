package dev.warmpath.benchmarks.prefix;

import dev.warmpath.benchmarks.prefix.PrefixWorld.Member;
import dev.warmpath.router.prefix.PrefixIndex;
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
import org.openjdk.jmh.annotations.Warmup;

/**
 * Nanoseconds a key for what comes from workers, with size and digest checked after each batch: 100 ns is 10 million
 * keys a second, 250 ns are 4 million.
 * <pre>
 *   java -cp benchmarks/target/classes:$(cat benchmarks/target/classpath) \
 *        org.openjdk.jmh.Main prefix.PrefixApplyBenchmark
 * </pre>
 */
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 6)
@Measurement(iterations = 10)
@Fork(value = 1, jvmArgsAppend = {"-Xms4g", "-Xmx4g"})
public class PrefixApplyBenchmark {

    private static final int CHANGES = 32 * 1_024 * ChangeStream.CHANGES_PER_BATCH;
    private static final int PAIRS = PrefixWorld.WORKERS * PrefixWorld.BLOCKS_PER_WORKER;

    /** A full index and batches for it. */
    @State(Scope.Thread)
    public static class Full {
        @Param
        public Distribution distribution = Distribution.DISTINCT;
        private @Nullable ChangeStream stream;
        private final List<ChangeStream.Turn> turns = new ArrayList<>();

        @Setup
        public void fill() {
            var world = new PrefixWorld(distribution, false);
            stream = new ChangeStream(world, world.load(new PrefixIndex()));
        }

        @Setup(Level.Invocation)
        public void prepare() {
            turns.clear();
            for (int changes = 0; changes < CHANGES; changes += ChangeStream.CHANGES_PER_TURN) {
                turns.add(Objects.requireNonNull(stream).next());
            }
        }
    }

    /** An empty index and a snapshot for each worker. */
    @State(Scope.Thread)
    public static class Empty {
        @Param
        public Distribution distribution = Distribution.DISTINCT;
        private @Nullable PrefixWorld world;
        private final List<ChangeStream.Turn> snapshots = new ArrayList<>();

        @Setup
        public void make() {
            world = new PrefixWorld(distribution, false);
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
    }

    /** A key stored or removed, half of each. */
    @Benchmark
    @OperationsPerInvocation(CHANGES)
    public void mixedChanges(Full index) {
        index.turns.forEach(ChangeStream.Turn::apply);
    }

    /** A key of a snapshot. */
    @Benchmark
    @OperationsPerInvocation(PAIRS)
    public void snapshots(Empty index) {
        index.snapshots.forEach(ChangeStream.Turn::apply);
    }
}
