package dev.warmpath.worker.model;

/**
 * How large a runner's cache and steps are.
 * @param blockCount     blocks of the paged cache, the null block 0 included
 * @param hostBlockCount blocks of swap space in host memory, ids from 0; 0 is none
 */
public record RunnerSettings(int blockCount, int hostBlockCount, StepSettings steps) {

    public RunnerSettings {
        StepSettings.requireAtLeast("block count", blockCount, 2);
        StepSettings.requireAtLeast("host block count", hostBlockCount, 0);
    }

    /** No swap space, kernels that take blocks as they are, one step at a time. */
    public static RunnerSettings of(int blockCount, int blockSize, int maxBatchTokens, int maxSequences) {
        return new RunnerSettings(blockCount, 0,
                new StepSettings(blockSize, blockSize, maxBatchTokens, maxSequences, 1));
    }

    public RunnerSettings withHostBlockCount(int count) {
        return new RunnerSettings(blockCount, count, steps);
    }

    public RunnerSettings withKernelBlockSize(int size) {
        return new RunnerSettings(blockCount, hostBlockCount, steps.withKernelBlockSize(size));
    }

    public RunnerSettings withMaxStepsInFlight(int count) {
        return new RunnerSettings(blockCount, hostBlockCount, steps.withMaxStepsInFlight(count));
    }
}
