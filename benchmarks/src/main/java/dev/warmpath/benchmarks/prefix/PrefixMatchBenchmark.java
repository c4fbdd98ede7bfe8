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
 * Single matches among 100 workers of 100,000 blocks, idle and beside a thread that applies batches as fast as it can.
 * Each match is timed by itself ({@code SampleTime}; some 25 ns of each are the clock's) and gets a chain drawn at
 * random, whose own hashes were read just before, as a router has just computed them.
 * <pre>
 *   java -cp benchmarks/target/classes:$(cat benchmarks/target/classpath) \
 *        org.openjdk.jmh.Main prefix.PrefixMatchBenchmark
 * </pre>
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(value = 1, jvmArgsAppend = {"-Xms3g", "-Xmx3g"})
public class PrefixMatchBenchmark {

    /** What the chains are like. */
    public enum Held {
        /** 256 blocks, one worker holds them all. */
        WHOLE,
        /** 256 blocks, one worker holds them up to a random one. */
        PARTLY,
        /** 6,250 blocks, four workers at random depths. */
        FOUR_DEPTHS,
        /** 6,250 blocks, a hundred workers at random depths. */
        HUNDRED_DEPTHS
    }

    @Param
    public Held held = Held.WHOLE;
    @Param
    public Distribution distribution = Distribution.DISTINCT;
    @Param({"false", "true"})
    public boolean writer;

    private final PrefixIndex index = new PrefixIndex();
    private final SplittableRandom random = new SplittableRandom(1);
    private BlockHashChain[] chains = {};
    private @Nullable BlockHashChain next;
    private long seen;
    private @Nullable ChangeStream changes;
    private @Nullable Thread writing;

    @Setup
    public void fill() {
        var world = new PrefixWorld(distribution, true);
        var members = world.load(index);
        chains = switch (held) {
            case WHOLE -> world.whole;
            case PARTLY -> world.partial;
            case FOUR_DEPTHS -> world.fourDepths;
            case HUNDRED_DEPTHS -> world.hundredDepths;
        };
        if (writer) {
            var stream = new ChangeStream(world, members);
            changes = stream;
            writing = Thread.ofPlatform().daemon().start(stream::applyUntilStopped);
        }
    }

    @TearDown
    public void stop() throws InterruptedException {
        if (changes != null && writing != null) {
            changes.stop();
            writing.join();
        }
    }

    @Setup(Level.Invocation)
    public void drawChain() {
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
