package dev.warmpath.worker.engine;

import dev.warmpath.protocol.generate.LogitRules;
import dev.warmpath.worker.compute.LogitAdjustments;
import dev.warmpath.worker.compute.Sampling;
import dev.warmpath.worker.compute.StepOutput;
import dev.warmpath.worker.engine.RequestMix.Ask;
import dev.warmpath.worker.model.ModelRunner;
import dev.warmpath.worker.model.RowAdjustment;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;

/**
 * What a request generates when it is alone: no scheduler, no block manager, the whole prompt in one step, and then a
 * token a step into blocks of its own.
 * @param tokens [maxTokens]
 * @param logits [maxTokens][vocabulary]; row i is what token i was drawn from
 */
record AloneRun(int[] tokens, float[][] logits) {

    static AloneRun of(ModelRunner runner, Ask ask) {
        var asked = ask.sampling();
        LogitRules rules = asked.rules();
        var sampling = new Sampling(asked.seed(), asked.temperature(), asked.topK(), asked.topP(), false);
        int promptLength = ask.prompt().length;
        int[] tokens = Arrays.copyOf(ask.prompt(), promptLength + ask.maxTokens());
        float[][] logits = new float[ask.maxTokens()][];
        var batch = runner.newInputBatch();
        var output = new StepOutput(1);
        int[][] blocks = new int[runner.config().groupWindows().size()][batch.maxBlocksPerSequence()];
        for (int group = 0; group < blocks.length; group++) {
            int before = group * batch.maxBlocksPerSequence();
            Arrays.setAll(blocks[group], index -> before + index + 1);
        }
        for (int drawn = 0; drawn < ask.maxTokens(); drawn++) {
            int from = drawn == 0 ? 0 : promptLength + drawn - 1;
            int count = promptLength + drawn - from;
            batch.clear();
            batch.add(tokens, from, count, blocks, Math.ceilDiv(from + count, batch.blockSize()), sampling);
            if (rules.countsPrompt()) {
                batch.adjust(new RowAdjustment(rules.repetitionPenalty(), 0, 0, Float.NEGATIVE_INFINITY, false), -1);
                int[] seen = Arrays.stream(tokens, 0, promptLength + drawn).distinct().toArray();
                int[] notes = new int[seen.length];
                Arrays.fill(notes, LogitAdjustments.PROMPT);
                batch.addEntries(seen, new float[seen.length], notes, seen.length);
            } else if (rules.minP() > 0) {
                float cut = asked.temperature() == 0 ? Float.NEGATIVE_INFINITY
                        : (float) (asked.temperature() * Math.log(RequestMix.MIN_P));
                batch.adjust(new RowAdjustment(1, 0, 0, cut, false), -1);
                batch.addEntries(RequestMix.BIASED, RequestMix.BIASES, new int[2], 2);
                batch.ban(RequestMix.BANNED[0], LogitAdjustments.BAN);
            }
            runner.await(runner.submit(batch), output);
            tokens[promptLength + drawn] = output.token(0);
            logits[drawn] = logits(runner);
        }
        return new AloneRun(Arrays.copyOfRange(tokens, promptLength, tokens.length), logits);
    }

    private static float[] logits(ModelRunner runner) {
        try (var arena = Arena.ofConfined()) {
            var row = arena.allocate(ValueLayout.JAVA_FLOAT, runner.config().vocabularySize());
            runner.readLogits(1, row);
            return row.toArray(ValueLayout.JAVA_FLOAT);
        }
    }
}
