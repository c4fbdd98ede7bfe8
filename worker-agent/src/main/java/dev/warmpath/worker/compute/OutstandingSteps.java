package dev.warmpath.worker.compute;

import java.util.ArrayDeque;

/**
 * A backend's steps that were submitted and have not been awaited, and the rules that {@link ComputeBackend#submit} and
 * {@link ComputeBackend#await} have for them. Not thread-safe.
 * @param <R> what the backend brings a step's tokens back from
 */
public final class OutstandingSteps<R> {

    private final ArrayDeque<Step<R>> steps = new ArrayDeque<>();
    private long submittedSteps;

    /** A submitted step. @param rowCount tokens that it brings @param scoredCount rows that it tells likelihoods of */
    public record Step<R>(Completion completion, SampledTokens sampled, int rowCount, int scoredCount, R result) {
    }

    /** @throws IllegalStateException if an outstanding step drew into the same tensor */
    public void requireFree(SampledTokens sampled) {
        for (Step<R> step : steps) {
            if (step.sampled().tokens() == sampled.tokens()) {
                throw new IllegalStateException("step %d drew into the same tensor and has not been awaited"
                        .formatted(step.completion().stepNumber()));
            }
        }
    }

    public Completion add(SampledTokens sampled, int rowCount, int scoredCount, R result) {
        var completion = new Completion(++submittedSteps);
        steps.addLast(new Step<>(completion, sampled, rowCount, scoredCount, result));
        return completion;
    }

    /**
     * Takes the oldest step off and empties the output.
     * @throws IllegalStateException    if the completion is not the oldest step's
     * @throws IllegalArgumentException if the output takes less than the step brings; the step stays
     */
    public Step<R> take(Completion completion, StepOutput output) {
        Step<R> step = steps.peekFirst();
        if (step == null || !step.completion().equals(completion)) {
            throw new IllegalStateException(
                    "step %d is not the oldest outstanding one".formatted(completion.stepNumber()));
        }
        if (step.rowCount() > output.capacity()) {
            throw new IllegalArgumentException(
                    "step brings %d tokens, the output takes %d".formatted(step.rowCount(), output.capacity()));
        }
        if (step.scoredCount() > output.scoredCapacity()) {
            throw new IllegalArgumentException("step tells likelihoods of %d rows, the output takes %d"
                    .formatted(step.scoredCount(), output.scoredCapacity()));
        }
        steps.removeFirst();
        output.clear();
        return step;
    }
}
