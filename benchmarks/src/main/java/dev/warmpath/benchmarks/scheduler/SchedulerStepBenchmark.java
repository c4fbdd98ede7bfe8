package dev.warmpath.benchmarks.scheduler;

import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.kvcache.KvCacheManager;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.kvcache.TokenSequence;
import dev.warmpath.worker.scheduler.Logprobs;
import dev.warmpath.worker.scheduler.RequestLimits;
import dev.warmpath.worker.scheduler.ScheduledBatch;
import dev.warmpath.worker.scheduler.Scheduler;
import dev.warmpath.worker.scheduler.SchedulerSettings;
import dev.warmpath.worker.scheduler.Sequence;
import dev.warmpath.worker.scheduler.Submission;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * One turn of the scheduler, {@code schedule} and {@code settle}, while 256 sequences decode: prompts of 100 to 1,000
 * random tokens, blocks of 16, a pool that holds all, caching and events on. Every sequence takes a block each sixteenth
 * step, so 16 a step, and keys the one before; with {@code waiting}, 64 more stand in the queue. A turn allocates
 * nothing of its own (held to that by the worker's {@code SchedulerAllocationTest}); what shows here are the sequences'
 * arrays of tokens and hashes, which grow with them, the log's drain each 128th turn, and new sequences each 4,096th.
 * <pre>
 *   java -cp benchmarks/target/classes:$(cat benchmarks/target/classpath) \
 *        org.openjdk.jmh.Main SchedulerStepBenchmark -prof gc -bm sample
 * </pre>
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 10, time = 1)
@Fork(value = 2, jvmArgsAppend = {"-Xms4g", "-Xmx4g"})
public class SchedulerStepBenchmark {

    private static final int RUNNING = 256;
    private static final int BLOCK_SIZE = 16;
    private static final int BLOCKS = 262_144;
    private static final int VOCABULARY = 32_000;
    private static final int MAX_TOKENS = 8_192;
    private static final int CONTEXT = 16_384;
    private static final int STEPS_PER_LIFE = 4_096;
    private static final int STEPS_PER_DRAIN = 128;

    @Param({"0", "64"})
    int waiting;

    private final SplittableRandom random = new SplittableRandom(42);
    private final int[] drawn = new int[RUNNING];
    private final SchedulerSettings settings = SchedulerSettings.of(16_384, RUNNING, 1_024);
    private final KvCacheSettings cacheSettings = KvCacheSettings.of(BLOCKS, BLOCK_SIZE).withMaxLength(CONTEXT);
    private final KvCacheManager cache = new KvCacheManager(cacheSettings);
    private final Scheduler scheduler = new Scheduler(settings,
            new RequestLimits(VOCABULARY, CONTEXT, cacheSettings, settings.mostTokensInFlight()), cache);
    private final List<Sequence> alive = new ArrayList<>();
    private int stepsLeft;

    /** Others, which have just computed their prompts. */
    @Setup
    public void start() {
        alive.forEach(scheduler::cancel);
        alive.clear();
        for (int i = 0; i < RUNNING + waiting; i++) {
            int[] prompt = random.ints(100 + random.nextInt(900), 0, VOCABULARY).toArray();
            var tokens = new TokenSequence(HashSettings.ofBlockSize(BLOCK_SIZE), ExtraKeys.NONE, prompt);
            var sequence = new Sequence("r" + i, tokens, SamplingParameters.GREEDY,
                    StopConditions.pastTheEnd(MAX_TOKENS), new int[] {2}, Logprobs.NONE, 0, Sequence.NO_DEADLINE, null);
            if (!(scheduler.submit(sequence, 0) instanceof Submission.Accepted)) {
                throw new IllegalStateException(sequence + " was refused");
            }
            alive.add(sequence);
        }
        stepsLeft = STEPS_PER_LIFE;
        while (scheduler.runningCount() < RUNNING) {
            step();
        }
    }

    @Benchmark
    public int step() {
        if (--stepsLeft == 0) {
            start();
        }
        ScheduledBatch batch = scheduler.schedule(0);
        Arrays.fill(drawn, VOCABULARY - 1);
        scheduler.settle(batch, drawn);
        if (stepsLeft % STEPS_PER_DRAIN == 0) {
            cache.drainChanges();
        }
        return batch.size();
    }
}
