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
 * The longest cached prefix of a prompt of 100,001 tokens (6,250 blocks), hashes and token ids compared, in a pool of
 * 131,072 blocks of which 125,000 carry keys: 20 such prompts, computed side by side in steps of 128 blocks, so that
 * their blocks lie mixed.
 * <pre>
 *   java -cp benchmarks/target/classes:$(cat benchmarks/target/classpath) \
 *        org.openjdk.jmh.Main PrefixMatchBenchmark -prof gc
 * </pre>
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 10, time = 1)
@Fork(value = 2, jvmArgsAppend = {"-Xms2g", "-Xmx2g"})
public class PrefixMatchBenchmark {

    private static final int POOL_BLOCKS = 131_072;
    private static final int PROMPTS = 20;
    private static final int PROMPT_BLOCKS = 6_250;
    private static final int STEP_TOKENS = 128 * Prompts.BLOCK_SIZE;
    private static final int STRANGERS = 8_192;

    private final KvCacheManager cache = new KvCacheManager(KvCacheSettings.of(POOL_BLOCKS, Prompts.BLOCK_SIZE));
    private final Prompts prompts = new Prompts();
    private final TokenSequence[] cached = prompts.sequences(PROMPTS, PROMPT_BLOCKS * Prompts.BLOCK_SIZE + 1);
    private final TokenSequence[] strangers = prompts.sequences(STRANGERS, 4 * Prompts.BLOCK_SIZE);
    private int turn;

    @Setup
    public void fill() {
        for (TokenSequence prompt : cached) {
            require(cache.admit(prompt, cache.match(prompt), STEP_TOKENS));
        }
        while (cached[0].uncomputedTokens() > 0) {
            for (TokenSequence prompt : cached) {
                require(cache.extend(prompt, Math.min(STEP_TOKENS, prompt.uncomputedTokens())));
            }
        }
        for (TokenSequence prompt : cached) {
            cache.release(prompt);
        }
        cache.drainChanges();
        require(cache.match(cached[PROMPTS - 1]).blockCount() == PROMPT_BLOCKS);
    }

    /** Per block; always the same prompt, whose data stay in the nearer caches. */
    @Benchmark
    @OperationsPerInvocation(PROMPT_BLOCKS)
    public int hitOfOnePrompt() {
        return cache.match(cached[0]).blockCount();
    }

    /** Per block; one prompt after the other, so that the data come from the outer cache. */
    @Benchmark
    @OperationsPerInvocation(PROMPT_BLOCKS)
    public int hitOfPromptsInTurn() {
        turn = (turn + 1) % PROMPTS;
        return cache.match(cached[turn]).blockCount();
    }

    /** In all, for prompts of which not even the first block is cached, each time another one. */
    @Benchmark
    public int missAtTheFirstBlock() {
        turn = (turn + 1) % STRANGERS;
        return cache.match(strangers[turn]).blockCount();
    }

    private static void require(boolean condition) {
        if (!condition) {
            throw new IllegalStateException("the pool is not as the benchmark wants it");
        }
    }
}
