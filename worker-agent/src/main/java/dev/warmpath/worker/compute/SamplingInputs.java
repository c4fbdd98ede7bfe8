package dev.warmpath.worker.compute;

/**
 * The {@link Sampling} of each sampled row, one tensor a parameter; allocated once and rewritten by each step.
 * @param seeds        I64 [rows, 1]
 * @param counters     I32 [rows, 1]; index that the drawn token will have in its sequence
 * @param temperatures F32 [rows, 1]
 * @param topKs        I32 [rows, 1]
 * @param topPs        F32 [rows, 1]
 * @param logprobs     I32 [rows, 1]; 1 where the log-probability is wanted, else 0
 */
public record SamplingInputs(Tensor seeds, Tensor counters, Tensor temperatures, Tensor topKs, Tensor topPs,
                             Tensor logprobs) {
}
