package dev.warmpath.benchmarks.compute;

import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.Sampling;
import dev.warmpath.worker.compute.StepOutput;
import dev.warmpath.worker.compute.cpu.VectorBackend;
import dev.warmpath.worker.model.InputBatch;
import dev.warmpath.worker.model.ModelRunner;
import dev.warmpath.worker.model.RunnerSettings;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.function.LongSupplier;

/**
 * Tokens per second of a model on processors, and of what is beside it, llama.cpp or the same with keys and values in
 * bfloat16: prefill of one prompt in one step, decoding of one stream and of sixteen. Prompts are uniform random ids.
 * The two take turns, measurement by measurement, in one run, since other work may share the machine; medians and the
 * best of all rounds, and the median of the rounds' quotients. Of one thread that is compared with itself, CPU time is
 * taken, of which other work takes less than of the clock's.
 * <pre>
 *   java --add-modules jdk.incubator.vector --enable-native-access=ALL-UNNAMED -cp … \
 *        dev.warmpath.benchmarks.compute.DecoderSpeed MODEL THREADS ROUNDS [PYTHON MODEL.gguf | bfloat16]
 * </pre>
 * PYTHON has llama-cpp-python, built where it runs; the program is run from the repository's root.
 */
public final class DecoderSpeed {

    private static final int STREAMS = 16;
    private static final int SHORT_PROMPT = 32;
    private static final int LONG_PROMPT = 1024;
    private static final int DRAWN = 32;
    private static final int BLOCK_SIZE = 16;
    private static final int BLOCKS_PER_SEQUENCE = 72;
    private static final int WARM_UP_ROUNDS = 3;

    /** What is measured. */
    private enum Case {
        DECODE_1("decode, 1 stream", 1, SHORT_PROMPT, 0),
        DECODE_1_LONG("decode, 1 stream behind 1,024", 1, LONG_PROMPT, 0),
        DECODE_16("decode, 16 streams", STREAMS, SHORT_PROMPT, 0),
        PREFILL_512("prefill 512", 0, 0, 512),
        PREFILL_1024("prefill 1,024", 0, 0, LONG_PROMPT);

        private final String label;
        private final int streams;
        private final int from;
        private final int promptLength;

        Case(String label, int streams, int from, int promptLength) {
            this.label = label;
            this.streams = streams;
            this.from = from;
            this.promptLength = promptLength;
        }

        int tokens() {
            return promptLength > 0 ? promptLength : streams * DRAWN;
        }
    }

    /** What can be measured. */
    private interface Decoder {

        double seconds(Case measured) throws IOException;
    }

    private final ModelRunner runner;
    private final InputBatch batch;
    private final LongSupplier clock;
    private final StepOutput output = new StepOutput(STREAMS);
    private final int[][] tokens = new int[STREAMS][BLOCKS_PER_SEQUENCE * BLOCK_SIZE];
    private final int[] filled = new int[STREAMS];
    private final int[][] blockTables = new int[STREAMS][BLOCKS_PER_SEQUENCE];

    private DecoderSpeed(Path model, int threads, CacheType cacheType, LongSupplier clock) throws IOException {
        this.clock = clock;
        runner = ModelRunner.load(model, new VectorBackend(threads, cacheType),
                RunnerSettings.of(STREAMS * BLOCKS_PER_SEQUENCE + 1, BLOCK_SIZE, LONG_PROMPT, STREAMS));
        batch = runner.newInputBatch();
        var random = new SplittableRandom(1);
        for (int stream = 0; stream < STREAMS; stream++) {
            for (int i = 0; i < tokens[stream].length; i++) {
                tokens[stream][i] = random.nextInt(runner.config().vocabularySize());
            }
            for (int i = 0; i < BLOCKS_PER_SEQUENCE; i++) {
                blockTables[stream][i] = 1 + i * STREAMS + stream;
            }
        }
    }

    public static void main(String[] args) throws IOException {
        boolean withItself = args.length == 4 && args[3].equals(CacheType.BF16.label());
        if (args.length != 3 && args.length != 5 && !withItself) {
            throw new IllegalArgumentException("takes MODEL THREADS ROUNDS, and then PYTHON MODEL.gguf, or bfloat16");
        }
        int threads = Integer.parseInt(args[1]);
        int rounds = Integer.parseInt(args[2]);
        LongSupplier clock = withItself && threads == 1
                ? ManagementFactory.getThreadMXBean()::getCurrentThreadCpuTime : System::nanoTime;
        var ours = new DecoderSpeed(Path.of(args[0]), threads, CacheType.F32, clock);
        if (args.length > 4) {
            try (var llama = LlamaCpp.start(args[3], args[4], threads, STREAMS, BLOCKS_PER_SEQUENCE * BLOCK_SIZE)) {
                report(rounds, "ours", ours::seconds, "llama.cpp", measured -> seconds(measured, llama));
            }
        } else if (withItself) {
            var packed = new DecoderSpeed(Path.of(args[0]), threads, CacheType.BF16, clock);
            report(rounds, "bfloat16", packed::seconds, "float32", ours::seconds);
            packed.runner.close();
        } else {
            report(rounds, "ours", ours::seconds, "nothing", _ -> Double.NaN);
        }
        ours.runner.close();
    }

    private static void report(int rounds, String name, Decoder decoder, String otherName, Decoder beside)
            throws IOException {
        var cases = Case.values();
        double[][] seconds = new double[cases.length][rounds];
        double[][] others = new double[cases.length][rounds];
        for (int round = -WARM_UP_ROUNDS; round < rounds; round++) {
            for (Case measured : cases) {
                double own = decoder.seconds(measured);
                double other = beside.seconds(measured);
                if (round >= 0) {
                    seconds[measured.ordinal()][round] = own;
                    others[measured.ordinal()][round] = other;
                }
            }
        }
        System.out.printf("| tokens/s | %1$s, median (best) | %2$s, median (best) | %1$s / %2$s |%n"
                + "|---|---:|---:|---:|%n", name, otherName);
        for (Case measured : cases) {
            double[] own = seconds[measured.ordinal()];
            double[] other = others[measured.ordinal()];
            double[] quotients = new double[rounds];
            Arrays.setAll(quotients, round -> other[round] / own[round]);
            System.out.printf("| %s | %,.0f (%,.0f) | %,.0f (%,.0f) | %.2f |%n", measured.label,
                    measured.tokens() / median(own), measured.tokens() / least(own),
                    measured.tokens() / median(other), measured.tokens() / least(other), median(quotients));
        }
    }

    private static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }

    private static double least(double[] values) {
        return Arrays.stream(values).min().orElseThrow();
    }

    private double seconds(Case measured) {
        for (int stream = 0; stream < measured.streams; stream++) {
            fill(stream, measured.from);
        }
        long start = clock.getAsLong();
        if (measured.promptLength > 0) {
            prefill(0, measured.promptLength);
        } else {
            decode(measured.streams, measured.from);
        }
        return (clock.getAsLong() - start) / 1e9;
    }

    private static double seconds(Case measured, LlamaCpp llama) throws IOException {
        if (measured.promptLength > 0) {
            return llama.seconds("prefill", measured.promptLength);
        }
        llama.seconds("fill", measured.streams, measured.from);
        return llama.seconds("decode", measured.streams, measured.from, DRAWN);
    }

    /** A position always has the same token, so what is computed again is computed to the bit. */
    private void fill(int stream, int length) {
        if (filled[stream] < length) {
            prefill(stream, length);
            filled[stream] = length;
        }
    }

    private void prefill(int stream, int length) {
        batch.clear();
        batch.add(tokens[stream], 0, length, blockTables[stream], BLOCKS_PER_SEQUENCE, Sampling.greedy());
        runner.await(runner.submit(batch), output);
    }

    private void decode(int streams, int from) {
        for (int position = from; position < from + DRAWN; position++) {
            batch.clear();
            for (int stream = 0; stream < streams; stream++) {
                batch.add(tokens[stream], position, 1, blockTables[stream], BLOCKS_PER_SEQUENCE, Sampling.greedy());
            }
            runner.await(runner.submit(batch), output);
        }
    }
}
