package dev.warmpath.benchmarks.prefix;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.router.prefix.PrefixIndex;
import dev.warmpath.router.prefix.PrefixMatch;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Single matches among 100 workers of 100,000 blocks, idle, beside a thread that applies batches as fast as it can, and
 * with cold caches. Each match is timed by itself ({@code SampleTime}; some 25 ns of each are the clock's) and gets a
 * chain drawn at random, whose own hashes were read just before, as a router has just computed them. There are as many
 * chains as fit into four fifths of the keys, or into what popular prefixes leave of that: 31,250 short ones, 640 of
 * four depths, but only 25 of a hundred, which ask for the same lines again and again.
 * <pre>
 *   java -cp benchmarks/target/classes:$(cat benchmarks/target/classpath) \
 *        org.openjdk.jmh.Main prefix.PrefixMatchBenchmark
 *   java -cp benchmarks/target/classes:$(cat benchmarks/target/classpath) \
 *        org.openjdk.jmh.Main prefix.PrefixMatchBenchmark -p beside=COLD_CACHES -p held=WHOLE,PARTLY
 * </pre>
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 2, time = 1)
@Measurement(iterations = 2, time = 1)
@Fork(value = 1, jvmArgsAppend = {"-Xms3g", "-Xmx3g"})
public class PrefixMatchBenchmark {

    /** What goes on beside the matches. */
    public enum Beside {
        NOTHING,
        /** Batches are applied as fast as a thread can make them; their rate is printed at the end. */
        WRITER,
        /** Before each match everything else is driven from the caches, by reading {@value #EVICTING_BYTES} bytes. */
        COLD_CACHES
    }

    private static final int EVICTING_BYTES = 64 << 20;
    private static final int CACHE_LINE = 64;
    /** With cold caches there are too few to a second. */
    private static final int MATCHES_UNTIL_COMPILED = 50_000;

    @Param
    public Held held = Held.WHOLE;
    @Param
    public Distribution distribution = Distribution.DISTINCT;
    @Param({"NOTHING", "WRITER"})
    public Beside beside = Beside.NOTHING;

    private final PrefixIndex index = new PrefixIndex();
    private final SplittableRandom random = new SplittableRandom(1);
    private BlockHashChain[] chains = {};
    private @Nullable BlockHashChain next;
    private byte[] evicting = {};
    private long seen;
    private @Nullable ChangeStream changes;
    private @Nullable Thread writing;

    @Setup
    public void fill() {
        var world = new PrefixWorld(distribution, held);
        var members = world.load(index);
        chains = world.chains;
        switch (beside) {
            case NOTHING -> { }
            case WRITER -> {
                var stream = new ChangeStream(world, members);
                changes = stream;
                writing = Thread.ofPlatform().daemon().start(stream::applyUntilStopped);
            }
            case COLD_CACHES -> {
                for (int i = 0; i < MATCHES_UNTIL_COMPILED; i++) {
                    seen += index.match(chains[random.nextInt(chains.length)], Integer.MAX_VALUE).hashCode();
                }
                evicting = new byte[EVICTING_BYTES];
            }
        }
    }

    @TearDown
    public void stop() throws InterruptedException {
        if (changes != null && writing != null) {
            changes.stop();
            writing.join();
            System.out.printf("%nwriter: %.2f million keys a second%n", changes.achievedRate() / 1e6);
        }
    }

    @Setup(Level.Invocation)
    public void drawChain() {
        for (int i = 0; i < evicting.length; i += CACHE_LINE) {
            seen += evicting[i];
        }
        next = chains[random.nextInt(chains.length)];
        for (int block = 0; block < next.blockCount(); block++) {
            seen += next.key(block);
        }
    }

    @Benchmark
    public PrefixMatch match() {
        return index.match(next, Integer.MAX_VALUE);
    }
}
