package dev.warmpath.worker.model;

/**
 * How large a runner's cache and steps are.
 * @param blockCount       blocks of the paged cache, the null block 0 included
 * @param hostBlockCount   blocks of swap space in host memory, ids from 0; 0 is none
 * @param blockSize        tokens in a block, as whoever hands blocks out counts them
 * @param kernelBlockSize  tokens in a block as the device sees it; divides {@code blockSize}. Smaller ones suit kernels
 *                         that are built for one size; positions lie in the same slots either way
 * @param maxBatchTokens   tokens in the largest step
 * @param maxSequences     sequences in the largest step
 * @param maxStepsInFlight steps that may be submitted and not awaited yet
 */
public record RunnerSettings(int blockCount, int hostBlockCount, int blockSize, int kernelBlockSize, int maxBatchTokens,
                             int maxSequences, int maxStepsInFlight) {

    public RunnerSettings {
        requireAtLeast("block count", blockCount, 2);
        requireAtLeast("host block count", hostBlockCount, 0);
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

    private static void requireAtLeast(String what, int value, int least) {
        if (value < least) {
            throw new IllegalArgumentException("%s is %d, takes %d and above".formatted(what, value, least));
        }
    }

    /** No swap space, kernels that take blocks as they are, one step at a time. */
    public static RunnerSettings of(int blockCount, int blockSize, int maxBatchTokens, int maxSequences) {
        return new RunnerSettings(blockCount, 0, blockSize, blockSize, maxBatchTokens, maxSequences, 1);
    }

    public RunnerSettings withHostBlockCount(int count) {
        return new RunnerSettings(
                blockCount, count, blockSize, kernelBlockSize, maxBatchTokens, maxSequences, maxStepsInFlight);
    }

    public RunnerSettings withKernelBlockSize(int size) {
        return new RunnerSettings(
                blockCount, hostBlockCount, blockSize, size, maxBatchTokens, maxSequences, maxStepsInFlight);
    }

    public RunnerSettings withMaxStepsInFlight(int count) {
        return new RunnerSettings(
                blockCount, hostBlockCount, blockSize, kernelBlockSize, maxBatchTokens, maxSequences, count);
    }

    /** Blocks of the device in one block. */
    int kernelBlocksPerBlock() {
        return blockSize / kernelBlockSize;
    }
}
