package dev.warmpath.worker.compute;

/**
 * Where the tokens of one step stand in their sequences. The tensors are allocated once and rewritten by each step;
 * rows past the counts hold leftovers. The tokens of one sequence are consecutive, in order of position, the last at
 * {@code contextLength - 1}.
 * @param positions      I32 [tokens, 1]; position of each token in its sequence, from 0
 * @param slotMapping    I32 [tokens, 1]; entry t = blockId * blockSize + offset in block; {@code -1} skips padding
 * @param blockTables    I32, {@code blockTableStride} block ids a sequence; entries past the context are not read
 * @param queryStarts    I32 [sequences + 1, 1]; first token of each sequence in the batch, then the token count
 * @param contextLengths I32 [sequences, 1]; positions a sequence has after this step, cached ones included
 * @param blockTableStride entries from one sequence's table to the next
 */
public record PagedBatch(Tensor positions, Tensor slotMapping, Tensor blockTables, Tensor queryStarts,
                         Tensor contextLengths, int tokenCount, int sequenceCount, int blockTableStride) {
}
