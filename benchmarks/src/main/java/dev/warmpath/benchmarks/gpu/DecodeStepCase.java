package dev.warmpath.benchmarks.gpu;

import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.Sampling;
import dev.warmpath.worker.compute.StepOutput;
import dev.warmpath.worker.model.InputBatch;
import dev.warmpath.worker.model.ModelRunner;
import dev.warmpath.worker.model.PendingStep;
import dev.warmpath.worker.model.RunnerSettings;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.Consumer;

/**
 * One decode step of a whole model at batch 1, as the engine runs it: two steps in flight, the next fed with the token
 * that the one before draws. Timed by the host from one awaited step to the next, so that whatever the host costs
 * counts; the weights alone are many times the L2. Held to the time in which the card's copy moves the weights and the
 * context's keys and values.
 */
final class DecodeStepCase implements GpuCase {

    private static final double LEAST = 0.70;

    private final Goal goal = Goal.share("decode step of the 1B-class model, batch 1", LEAST, "copy bandwidth");

    @Override
    public List<Goal> goals() {
        return List.of(goal);
    }

    @Override
    public void measure(GpuBench bench, Consumer<Row> rows) throws IOException {
        Sizes sizes = bench.sizes();
        int steps = sizes.repetitions();
        int tokens = sizes.decodePrompt() + sizes.decodeWarmUps() + steps + 2;
        int blocks = Math.ceilDiv(tokens, AttentionWorld.BLOCK_TOKENS);
        var settings = RunnerSettings.of(blocks + 1, AttentionWorld.BLOCK_TOKENS, sizes.decodePrompt(), 1)
                .withMaxStepsInFlight(2);
        try (var runner = ModelRunner.load(bench.modelDirectory(), bench.open(CacheType.BF16), settings)) {
            var stream = new Stream(runner, sizes.decodePrompt(), blocks);
            rows.accept(row(bench, Times.of(stream.decode(sizes.decodeWarmUps(), steps))));
        }
    }

    private Row row(GpuBench bench, Times times) {
        LlamaShape model = bench.sizes().model();
        int context = bench.sizes().decodePrompt() + bench.sizes().decodeWarmUps();
        double floor = model.decodeFloorNanos(context, bench.card());
        return goal.reached("%.0f µs after %,d tokens".formatted(times.medianMicros(), context),
                "%.0f µs for %.2f GB".formatted(floor / 1e3,
                        (model.stepWeightBytes() + context * model.keyValueBytesPerToken()) / 1e9),
                floor / times.median(), Map.of("step", times));
    }

    /** A sequence that decodes with two steps in flight. */
    private static final class Stream {

        private final ModelRunner runner;
        private final InputBatch batch;
        private final StepOutput output = new StepOutput(1);
        private final int[] blockTable;
        private int position;

        Stream(ModelRunner runner, int context, int blocks) {
            this.runner = runner;
            this.batch = runner.newInputBatch();
            this.blockTable = new SplittableRandom(9).ints(1, blocks + 1).distinct().limit(blocks).toArray();
            int[] prompt = new SplittableRandom(4).ints(context, 0, runner.config().vocabularySize()).toArray();
            batch.add(prompt, 0, context, blockTable, blocks, Sampling.greedy());
            position = context;
        }

        long[] decode(int warmUps, int steps) {
            long[] nanos = new long[steps];
            PendingStep running = runner.submit(batch);
            long last = 0;
            for (int i = -warmUps - 1; i < steps; i++) {
                PendingStep next = submitNext();
                runner.await(running, output);
                long now = System.nanoTime();
                if (i >= 0) {
                    nanos[i] = now - last;
                }
                last = now;
                running = next;
            }
            runner.await(running, output);
            return nanos;
        }

        private PendingStep submitNext() {
            batch.clear();
            batch.addFed(0, position++, blockTable, blockTable.length, Sampling.greedy());
            return runner.submit(batch);
        }
    }
}
