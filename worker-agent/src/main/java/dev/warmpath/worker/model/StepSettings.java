package dev.warmpath.worker.model;

/**
 * How large a runner's steps are.
 * @param blockSize        tokens in a block, as whoever hands blocks out counts them
 * @param kernelBlockSize  tokens in a block as the device sees it; divides {@code blockSize}. Smaller ones suit kernels
 *                         that are built for one size; positions lie in the same slots either way
 * @param maxBatchTokens   tokens in the largest step
 * @param maxSequences     sequences in the largest step
 * @param maxStepsInFlight steps that may be submitted and not awaited yet
 */
public record StepSettings(int blockSize, int kernelBlockSize, int maxBatchTokens, int maxSequences,
                           int maxStepsInFlight) {

    public StepSettings {
        requireAtLeast("block size", blockSize, 1);
        requireAtLeast("kernel block size", kernelBlockSize, 1);
        requireAtLeast("max batch tokens", maxBatchTokens, 1);
        requireAtLeast("max sequences", maxSequences, 1);
        requireAtLeast("max steps in flight", maxStepsInFlight, 1);
        if (blockSize % kernelBlockSize != 0) {
            throw new IllegalArgumentException("kernel block size %d does not divide block size %d"
                    .formatted(kernelBlockSize, blockSize));
        }
    }

    static void requireAtLeast(String what, int value, int least) {
        if (value < least) {
            throw new IllegalArgumentException("%s is %d, takes %d and above".formatted(what, value, least));
        }
    }

    StepSettings withKernelBlockSize(int size) {
        return new StepSettings(blockSize, size, maxBatchTokens, maxSequences, maxStepsInFlight);
    }

    StepSettings withMaxStepsInFlight(int count) {
        return new StepSettings(blockSize, kernelBlockSize, maxBatchTokens, maxSequences, count);
    }

    /** Rows of a step that likelihoods may be told of: each that is sampled, and each token of prompts. */
    public int maxScoredRows() {
        return Math.addExact(maxSequences, maxBatchTokens);
    }

    /** Blocks of the device in one block. */
    int kernelBlocksPerBlock() {
        return blockSize / kernelBlockSize;
    }
}
