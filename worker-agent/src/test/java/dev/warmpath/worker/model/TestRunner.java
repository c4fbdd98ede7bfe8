package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.BlockMapping;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.CopyDirection;
import dev.warmpath.worker.compute.StepOutput;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/** Drives a {@link ModelRunner} by hand: hands out shuffled blocks, runs steps, reads logits. */
final class TestRunner implements AutoCloseable {

    final ModelRunner runner;
    final int blockSize;
    private final InputBatch batch;
    private final StepOutput output;
    private final int[] freeBlocks;
    private int nextFree;
    int computedTokens;
    int largestStep;

    TestRunner(Path model, ComputeBackend backend, int blockCount, int blockSize, int maxTokens, int maxSequences)
            throws IOException {
        this(model, backend, RunnerSettings.of(blockCount, blockSize, maxTokens, maxSequences));
    }

    TestRunner(Path model, ComputeBackend backend, RunnerSettings settings) throws IOException {
        this(ModelRunner.load(model, backend, settings), settings);
    }

    /** @param config of the model, where its file does not say all of it */
    TestRunner(Path model, ModelConfig config, ComputeBackend backend, RunnerSettings settings) throws IOException {
        this(LoadedModel.load(model, config, backend, settings.steps())
                .withCache(settings.blockCount(), settings.hostBlockCount()), settings);
    }

    TestRunner(ModelRunner runner, RunnerSettings settings) {
        this.runner = runner;
        this.blockSize = settings.steps().blockSize();
        this.batch = runner.newInputBatch();
        this.output = new StepOutput(settings.steps().maxSequences());
        this.freeBlocks = shuffledBlocks(settings.blockCount());
    }

    private static int[] shuffledBlocks(int blockCount) {
        int[] blocks = new int[blockCount - 1];
        var random = new SplittableRandom(blockCount);
        for (int i = 0; i < blocks.length; i++) {
            int j = random.nextInt(i + 1);
            blocks[i] = blocks[j];
            blocks[j] = i + 1;
        }
        return blocks;
    }

    /** @param length positions that the sequence will reach at most */
    RunningSequence sequence(int[] prompt, int length) {
        List<Integer> windows = runner.config().groupWindows();
        var tables = new int[windows.size()][];
        Arrays.setAll(tables, _ -> blocks(Math.ceilDiv(length, blockSize)));
        return new RunningSequence(prompt, tables, windows.stream().mapToInt(Integer::intValue).toArray());
    }

    /**
     * As {@link #sequence}, with the blocks of {@code cached} for its first {@code cachedTokens}, whole blocks: all
     * that it has computed, where there are windows.
     */
    RunningSequence sequenceAfter(RunningSequence cached, int cachedTokens, int[] prompt, int length) {
        RunningSequence warm = sequence(prompt, length);
        warm.takeBlocks(cached, cachedTokens / blockSize);
        return warm.withCached(cachedTokens);
    }

    private int[] blocks(int count) {
        int[] blocks = new int[count];
        System.arraycopy(freeBlocks, nextFree, blocks, 0, count);
        nextFree += count;
        return blocks;
    }

    void releaseAllBlocks() {
        nextFree = 0;
    }

    /** One step: up to {@code chunk} tokens of each sequence; drawn tokens are appended. */
    void step(List<RunningSequence> sequences, int chunk) {
        batch.clear();
        boolean[] draws = new boolean[sequences.size()];
        for (int i = 0; i < sequences.size(); i++) {
            computedTokens += sequences.get(i).addTo(batch, chunk);
            draws[i] = sequences.get(i).uncomputed() == 0;
        }
        largestStep = Math.max(largestStep, batch.sequenceCount());
        runner.await(runner.submit(batch), output);
        int drawn = 0;
        for (int i = 0; i < draws.length; i++) {
            if (draws[i]) {
                sequences.get(i).append(output.token(drawn++));
            }
        }
    }

    /** Computes all but the drawn token, {@code chunk} tokens a step. @return logits at the prompt's last position */
    float[] prefill(RunningSequence sequence, int chunk) {
        for (int length = sequence.length(); sequence.length() == length; ) {
            step(List.of(sequence), chunk);
        }
        return logits(0, 1);
    }

    /** Zeroes a block by copying the null block, to which nothing is ever written, over it. */
    void zero(int blockId) {
        var mapping = new BlockMapping(1);
        mapping.add(0, blockId);
        runner.copyBlocks(mapping, CopyDirection.DEVICE_TO_DEVICE);
    }

    /** Logits of a sampled row of the last step. */
    float[] logits(int row, int sampledCount) {
        int vocabulary = runner.config().vocabularySize();
        try (var arena = Arena.ofConfined()) {
            var all = arena.allocate(ValueLayout.JAVA_FLOAT, (long) sampledCount * vocabulary);
            runner.readLogits(sampledCount, all);
            return all.asSlice(4L * row * vocabulary, 4L * vocabulary).toArray(ValueLayout.JAVA_FLOAT);
        }
    }

    @Override
    public void close() {
        runner.close();
    }
}
