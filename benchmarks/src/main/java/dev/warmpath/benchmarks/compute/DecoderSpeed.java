package dev.warmpath.benchmarks.compute;

import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.Sampling;
import dev.warmpath.worker.compute.StepOutput;
import dev.warmpath.worker.compute.cpu.ScalarBackend;
import dev.warmpath.worker.compute.cpu.VectorBackend;
import dev.warmpath.worker.model.InputBatch;
import dev.warmpath.worker.model.ModelRunner;
import dev.warmpath.worker.model.RunnerSettings;
import java.io.IOException;
import java.nio.file.Path;
import java.util.SplittableRandom;

/**
 * Tokens per second of prefill (one prompt of 1,500 tokens, one step) and decode (16 to 32 tokens after a short prompt,
 * and after the long one; one stream and twelve). Prompts are uniform random ids. The best of several rounds, since
 * other work shares the machine.
 * <pre>
 *   java --add-modules jdk.incubator.vector --enable-native-access=ALL-UNNAMED -cp … \
 *        dev.warmpath.benchmarks.compute.DecoderSpeed models/warmpath-tiny [rounds]
 * </pre>
 */
public final class DecoderSpeed {

    private static final int PROMPT = 1500;
    private static final int SHORT_PROMPT = 32;
    private static final int DRAWN = 32;
    private static final int STREAMS = 12;
    private static final int BLOCK_SIZE = 16;
    private static final int BLOCKS_PER_SEQUENCE = 128;

    private final ModelRunner runner;
    private final InputBatch batch;
    private final StepOutput output = new StepOutput(STREAMS);
    private final int[][] tokens = new int[STREAMS][PROMPT + DRAWN + 1];
    private final int[][] blockTables = new int[STREAMS][BLOCKS_PER_SEQUENCE];

    private DecoderSpeed(Path model, ComputeBackend backend) throws IOException {
        runner = ModelRunner.load(model, backend,
                RunnerSettings.of(STREAMS * BLOCKS_PER_SEQUENCE + 1, BLOCK_SIZE, PROMPT, STREAMS));
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
        Path model = Path.of(args[0]);
        int rounds = args.length > 1 ? Integer.parseInt(args[1]) : 10;
        System.out.printf("%-10s %16s %16s %16s %16s%n", "backend", "prefill 1500", "decode @32", "decode @1500",
                "12 x decode @32");
        report("vector/1", model, new VectorBackend(1), rounds);
        report("vector/2", model, new VectorBackend(2), rounds);
        report("scalar", model, new ScalarBackend(), Math.min(rounds, 3));
    }

    private static void report(String name, Path model, ComputeBackend backend, int rounds) throws IOException {
        var speed = new DecoderSpeed(model, backend);
        double[] best = new double[4];
        for (int round = 0; round < rounds; round++) {
            best[0] = Math.max(best[0], speed.prefill(0, PROMPT));
            best[2] = Math.max(best[2], speed.decode(1, PROMPT));
            for (int stream = 0; stream < STREAMS; stream++) {
                speed.prefill(stream, SHORT_PROMPT);
            }
            best[1] = Math.max(best[1], speed.decode(1, SHORT_PROMPT));
            best[3] = Math.max(best[3], speed.decode(STREAMS, SHORT_PROMPT));
        }
        System.out.printf("%-10s %10.0f tok/s %10.0f tok/s %10.0f tok/s %10.0f tok/s%n",
                name, best[0], best[1], best[2], best[3]);
        speed.runner.close();
    }

    private double prefill(int stream, int length) {
        long start = System.nanoTime();
        batch.clear();
        batch.add(tokens[stream], 0, length, blockTables[stream], BLOCKS_PER_SEQUENCE, Sampling.greedy());
        runner.await(runner.submit(batch), output);
        return length * 1e9 / (System.nanoTime() - start);
    }

    private double decode(int streams, int from) {
        long start = System.nanoTime();
        for (int position = from; position < from + DRAWN; position++) {
            batch.clear();
            for (int stream = 0; stream < streams; stream++) {
                batch.add(tokens[stream], position, 1, blockTables[stream], BLOCKS_PER_SEQUENCE, Sampling.greedy());
            }
            runner.await(runner.submit(batch), output);
        }
        return streams * DRAWN * 1e9 / (System.nanoTime() - start);
    }
}
