package dev.warmpath.benchmarks.kvcache;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
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
 * Hashing a prompt of 100,000 tokens, per block of 16, against the bare digest of as many bytes. Half of the ids below
 * 128,000 take five bytes, the others three: a block's preimage has about 101 bytes, two rounds of SHA-256.
 * <pre>
 *   java -cp benchmarks/target/classes:$(cat benchmarks/target/classpath) \
 *        org.openjdk.jmh.Main BlockHashBenchmark -prof gc
 * </pre>
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 10, time = 1)
@Fork(value = 2, jvmArgsAppend = {"-Xms1g", "-Xmx1g"})
public class BlockHashBenchmark {

    private static final int PROMPT_BLOCKS = 6_250;
    private static final int PREIMAGE_BYTES = 101;

    private final int[] tokens = new Prompts().tokens(PROMPT_BLOCKS * Prompts.BLOCK_SIZE);
    private final HashSettings settings = HashSettings.ofBlockSize(Prompts.BLOCK_SIZE);
    private final byte[] preimage = new byte[PREIMAGE_BYTES];
    private MessageDigest sha256;

    @Setup
    public void prepare() throws GeneralSecurityException {
        sha256 = MessageDigest.getInstance("SHA-256");
    }

    @Benchmark
    @OperationsPerInvocation(PROMPT_BLOCKS)
    public BlockHashChain chain() {
        return BlockHashChain.of(settings, ExtraKeys.NONE, tokens);
    }

    /** Each digest goes into the next preimage, as in a chain; nothing is encoded. */
    @Benchmark
    @OperationsPerInvocation(PROMPT_BLOCKS)
    public byte[] plainDigests() throws GeneralSecurityException {
        for (int i = 0; i < PROMPT_BLOCKS; i++) {
            sha256.update(preimage, 0, PREIMAGE_BYTES);
            sha256.digest(preimage, 0, 32);
        }
        return preimage;
    }
}
