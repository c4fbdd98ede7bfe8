package dev.warmpath.benchmarks.tokenization;

import ai.djl.huggingface.tokenizers.jni.TokenizersLibrary;
import dev.warmpath.tokenization.IncrementalDetokenizer;
import dev.warmpath.tokenization.ModelFiles;
import dev.warmpath.tokenization.ModelTokenizer;
import dev.warmpath.tokenization.SegmentCache;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;
import org.openjdk.jmh.infra.Blackhole;

/**
 * Nanoseconds a token: prompts of 10,000 to ids by our own encoder, by the library, and out of the cache of segments;
 * and ids to text one by one. There are 32 prompts, taken by turns: random words are forgotten until they come again,
 * so they are merged each time; those of prose and code are remembered. Only the library's encoding and its ids are
 * asked for, as the router does where it uses it. The repository's own model has 2,048 tokens; another tokenizer.json
 * is given by {@code -p tokenizer}.
 * <pre>
 *   java -cp benchmarks/target/classes:$(cat benchmarks/target/classpath) \
 *        org.openjdk.jmh.Main EncodeBenchmark -prof gc -p tokenizer=smollm2/tokenizer.json
 * </pre>
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 1, jvmArgsAppend = {"-Xms1g", "-Xmx1g", "--enable-native-access=ALL-UNNAMED"})
public class EncodeBenchmark {

    private static final int TOKENS = 10_000;
    private static final int PROMPTS = 32;
    private static final int MOST_CHARS_PER_TOKEN = 8;

    @Param("models/warmpath-tiny/tokenizer.json")
    public String tokenizer = "";
    @Param
    public TextKind kind = TextKind.WORDS;

    private ModelTokenizer own;
    private ModelTokenizer cached;
    private long library;
    private final String[] texts = new String[PROMPTS];
    private int turn;
    private int[] ids = {};

    @Setup
    public void prepare() throws IOException {
        byte[] json = Files.readAllBytes(Path.of(tokenizer));
        var files = new ModelFiles(json, "{}".getBytes(StandardCharsets.UTF_8), null, null);
        own = new ModelTokenizer(files);
        cached = new ModelTokenizer(files, new SegmentCache(64 << 20));
        library = TokenizersLibrary.LIB.createTokenizerFromString(new String(json, StandardCharsets.UTF_8));
        int[] all = own.encode(kind.text(PROMPTS * TOKENS * MOST_CHARS_PER_TOKEN), false);
        for (int i = 0; i < PROMPTS; i++) {
            ids = Arrays.copyOfRange(all, i * TOKENS, (i + 1) * TOKENS);
            texts[i] = own.decode(ids);
            int count = own.encode(texts[i], false).length;
            if (Math.abs(count - TOKENS) > TOKENS / 1_000) {
                throw new IllegalStateException("a text has " + count + " tokens");
            }
        }
    }

    private String next() {
        turn = (turn + 1) % PROMPTS;
        return texts[turn];
    }

    @Benchmark
    @OperationsPerInvocation(TOKENS)
    public int[] own() {
        return own.encode(next(), false);
    }

    @Benchmark
    @OperationsPerInvocation(TOKENS)
    public int[] ownCached() {
        return cached.encode(new String(next()), false);             // another string each time: its hash is not known
    }

    @Benchmark
    @OperationsPerInvocation(TOKENS)
    public long[] library() {
        long encoding = TokenizersLibrary.LIB.encode(library, next(), false);
        try {
            return TokenizersLibrary.LIB.getTokenIds(encoding);
        } finally {
            TokenizersLibrary.LIB.deleteEncoding(encoding);
        }
    }

    @Benchmark
    @OperationsPerInvocation(TOKENS)
    public void decodedOneByOne(Blackhole blackhole) {
        var stream = new IncrementalDetokenizer(own);
        for (int id : ids) {
            blackhole.consume(stream.accept(id));
        }
        blackhole.consume(stream.finish());
    }
}
