package dev.warmpath.benchmarks.kvcache;

import dev.warmpath.worker.kvcache.KvCacheManager;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.kvcache.TokenSequence;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Admitting a prompt of 1,024 blocks and releasing the one admitted eight prompts ago, per block, in a pool of 131,072
 * blocks. With keys, the 160 prompts take turns: when one comes again its blocks are just gone, every block taken loses
 * a key and gets another. That includes the miss, comparing nothing, and the drain of the log after each prompt; its
 * two arrays of keys, 16 bytes a block, are all that may be allocated.
 * <pre>
 *   java -cp benchmarks/target/classes:$(cat benchmarks/target/classpath) \
 *        org.openjdk.jmh.Main AllocateFreeBenchmark -prof gc
 * </pre>
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 10, time = 1)
@Fork(value = 2, jvmArgsAppend = {"-Xms2g", "-Xmx2g"})
public class AllocateFreeBenchmark {

    private static final int POOL_BLOCKS = 131_072;
    private static final int PROMPTS = 160;
    private static final int PROMPT_BLOCKS = 1_024;
    private static final int LIVE = 8;

    private final TokenSequence[] prompts = new Prompts().sequences(PROMPTS, PROMPT_BLOCKS * Prompts.BLOCK_SIZE);
    private final KvCacheManager forgetful = new KvCacheManager(
            KvCacheSettings.of(POOL_BLOCKS, Prompts.BLOCK_SIZE).withPrefixCaching(false));
    private final KvCacheManager caching = new KvCacheManager(KvCacheSettings.of(POOL_BLOCKS, Prompts.BLOCK_SIZE));
    private int turn;

    @Setup
    public void fill() {
        for (int i = 0; i < 2 * PROMPTS; i++) {
            withEvictionAndEvents();
        }
        if (caching.stats().evictedBlocks() == 0 || caching.stats().hitTokens() > 0) {
            throw new IllegalStateException("the pool is not as the benchmark wants it");
        }
        for (TokenSequence prompt : prompts) {
            caching.release(prompt);
        }
    }

    @Benchmark
    @OperationsPerInvocation(PROMPT_BLOCKS)
    public int withoutKeys() {
        admitNext(forgetful);
        return forgetful.freeBlocks();
    }

    @Benchmark
    @OperationsPerInvocation(PROMPT_BLOCKS)
    public int withEvictionAndEvents() {
        admitNext(caching);
        return caching.drainChanges().size();
    }

    private void admitNext(KvCacheManager cache) {
        turn = (turn + 1) % PROMPTS;
        cache.release(prompts[(turn + PROMPTS - LIVE) % PROMPTS]);
        TokenSequence prompt = prompts[turn];
        if (!cache.admit(prompt, cache.match(prompt), prompt.tokenCount())) {
            throw new IllegalStateException("the pool is too small");
        }
    }
}
