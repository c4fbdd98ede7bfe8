package dev.warmpath.worker.engine;

import dev.warmpath.worker.compute.BlockMapping;
import dev.warmpath.worker.compute.ComputeException;
import dev.warmpath.worker.compute.CopyDirection;
import dev.warmpath.worker.compute.Sampling;
import dev.warmpath.worker.compute.StepOutput;
import dev.warmpath.worker.kvcache.BlockCopies;
import dev.warmpath.worker.model.InputBatch;
import dev.warmpath.worker.model.ModelRunner;
import dev.warmpath.worker.model.PendingStep;
import dev.warmpath.worker.scheduler.ScheduledBatch;
import dev.warmpath.worker.kvcache.TokenSequence;
import dev.warmpath.worker.scheduler.Sequence;
import java.util.ArrayDeque;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Carries scheduled batches to the model runner: the copies first, then a device step for each step of the batch, and
 * the drawn tokens back in the same order. Whatever is submitted runs in the order of submission.
 */
final class BatchComputation {

    private static final Logger log = LoggerFactory.getLogger(BatchComputation.class);
    private static final int COPIES_AT_ONCE = 256;
    /**
     * Of a row from which no token is wanted. Attention reads all keys and values up to the last token of a chunk, so if
     * one of them is not a number, the logits behind that token are none, either.
     */
    static final Sampling CHECK = new Sampling(/* seed */ -1, 0, 0, 1, false);

    private final ModelRunner runner;
    private final Function<Sequence, Generation> generations;
    private final InputBatch input;
    /** Of the sequence that is being added, in each group of the cache. */
    private final int[][] blockTables;
    private final StepOutput output;
    private final int[] drawnTokens;
    private final RowScores scores = new RowScores();
    private final BlockMapping mapping = new BlockMapping(COPIES_AT_ONCE);
    private final ArrayDeque<PendingStep> pending = new ArrayDeque<>();

    /** @param generations whose tokens are drawn */
    BatchComputation(ModelRunner runner, int maxSequences, Function<Sequence, Generation> generations) {
        this.runner = runner;
        this.generations = generations;
        this.input = runner.newInputBatch();
        this.blockTables = new int[runner.config().groupWindows().size()][];
        this.output = runner.newStepOutput();
        this.drawnTokens = new int[maxSequences];
    }

    /** See {@link dev.warmpath.worker.compute.ComputeBackend#refusedGraphs}. */
    long refusedGraphs() {
        return runner.refusedGraphs();
    }

    /**
     * Enqueues block copies, in order, and empties the list: whether they are made or not, they are not made again.
     *
     * @throws ComputeException if the device refuses
     */
    void copy(BlockCopies copies) {
        try {
            for (int i = 0; i < copies.size(); i++) {
                mapping.add(copies.source(i), copies.target(i));
                boolean last = i + 1 == copies.size() || copies.direction(i + 1) != copies.direction(i);
                if (last || mapping.count() == COPIES_AT_ONCE) {
                    runner.copyBlocks(mapping, direction(copies.direction(i)));
                    mapping.clear();
                }
            }
        } finally {
            mapping.clear();
            copies.clear();
        }
    }

    private static CopyDirection direction(BlockCopies.Direction direction) {
        return switch (direction) {
            case WITHIN_DEVICE -> CopyDirection.DEVICE_TO_DEVICE;
            case TO_HOST -> CopyDirection.DEVICE_TO_HOST;
            case TO_DEVICE -> CopyDirection.HOST_TO_DEVICE;
        };
    }

    /** Enqueues all steps of a batch. @throws ComputeException if the device refuses one; those before are in flight */
    void submit(ScheduledBatch batch) {
        for (int step = 0; step < batch.stepCount(); step++) {
            fill(batch, step);
            pending.addLast(runner.submit(input));
        }
    }

    private void fill(ScheduledBatch batch, int step) {
        input.clear();
        for (int entry = 0; entry < batch.size(); entry++) {
            Sequence sequence = batch.sequence(entry);
            if (batch.row(entry, step) == ScheduledBatch.NO_ROW) {
                continue;
            }
            Generation generation = batch.sampleIndex(entry, step) == ScheduledBatch.NO_SAMPLE ? null
                    : generations.apply(sequence);
            Sampling sampling = generation == null ? CHECK : generation.sampling();
            TokenSequence tokens = sequence.tokens();
            for (int group = 0; group < blockTables.length; group++) {
                blockTables[group] = tokens.table(group).blocks();
            }
            int blockCount = tokens.table(0).blockCount();
            int feed = batch.feedIndex(entry, step);
            if (feed != ScheduledBatch.NO_SAMPLE) {
                input.addFed(feed, batch.firstPosition(entry) + step, blockTables, blockCount, sampling);
            } else {
                input.add(tokens.tokens(), batch.firstPosition(entry), batch.tokenCount(entry), blockTables, blockCount,
                        sampling);
            }
            if (generation != null) {
                input.tellLikeliest(sequence.logprobs().drawnAlternatives());
            }
            if (step == 0 && batch.scoredCount(entry) > 0) {
                input.scorePrompt(tokens.tokens(), batch.firstScored(entry), batch.scoredCount(entry),
                        sequence.logprobs().alternatives());
            }
            LogitShaper shaper = generation == null ? null : generation.shaper();
            if (shaper != null) {
                shaper.shape(input, batch.firstPosition(entry) + batch.tokenCount(entry) + step, feed,
                        runner.config().vocabularySize());
            }
        }
    }

    /**
     * Waits for the oldest step. Who has a row by which its prompt cannot be scored has computed something unusable,
     * even if its last row looks well.
     *
     * @param batch whose step it is
     * @return the drawn tokens by {@link ScheduledBatch#row}, {@link ScheduledBatch#UNUSABLE} or
     *         {@link ScheduledBatch#MASKED} where nothing could be drawn; valid until the next call, as {@link #scores}
     * @throws ComputeException if the step failed; later ones are still in flight
     */
    int[] await(ScheduledBatch batch, int step) {
        runner.await(pending.removeFirst(), output);
        for (int i = 0; i < output.count(); i++) {
            drawnTokens[i] = !output.isUsable(i) ? ScheduledBatch.UNUSABLE
                    : output.isMasked(i) ? ScheduledBatch.MASKED : output.token(i);
        }
        int row = firstPromptRow();
        for (int entry = 0; step == 0 && entry < batch.size(); entry++) {
            for (int i = 0; i < batch.scoredCount(entry); i++) {
                if (!output.isScored(row++)) {
                    drawnTokens[batch.row(entry, step)] = ScheduledBatch.UNUSABLE;
                }
            }
        }
        return drawnTokens;
    }

    /** Row of the first prompt token that the step awaited last has scored; the others follow in order of entries. */
    int firstPromptRow() {
        return output.count();
    }

    /**
     * How likely a token is that was drawn by the step awaited last.
     *
     * @param alternatives that were asked for beside it
     * @return the one reused object; valid until the next call
     */
    TokenScores scores(int sampleIndex, int alternatives) {
        return scores.set(sampleIndex, output.logprob(sampleIndex), /* rank */ 0, alternatives);
    }

    /** The same of a prompt token, by the row from {@link #firstPromptRow} on. */
    TokenScores promptScores(int row, int alternatives) {
        return scores.set(row, output.scoredLogprob(row), output.rank(row), alternatives);
    }

    private final class RowScores implements TokenScores {

        private int row;
        private float logprob;
        private int rank;
        private int likeliestCount;

        RowScores set(int newRow, float newLogprob, int newRank, int count) {
            row = newRow;
            logprob = newLogprob;
            rank = newRank;
            likeliestCount = count;
            return this;
        }

        @Override
        public float logprob() {
            return logprob;
        }

        @Override
        public int rank() {
            return rank;
        }

        @Override
        public int likeliestCount() {
            return likeliestCount;
        }

        @Override
        public int likeliest(int place) {
            return output.topId(row, place);
        }

        @Override
        public float logprob(int place) {
            return output.topLogprob(row, place);
        }
    }

    /** Waits for all steps in flight, whatever becomes of them. */
    void discard() {
        while (!pending.isEmpty()) {
            try {
                runner.await(pending.removeFirst(), output);
            } catch (ComputeException e) {
                log.debug("a step failed behind another that had failed", e);
            }
        }
    }
}
