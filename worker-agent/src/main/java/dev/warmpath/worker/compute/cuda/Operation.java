package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.AttentionSpec;
import dev.warmpath.worker.compute.GateActivation;
import org.jspecify.annotations.Nullable;

/**
 * One operation of a step with everything that stays when the step is repeated: its rows are kept beside it. Tensors
 * are equal if they are the same, so operations are equal if the same kernels would touch the same memory.
 */
sealed interface Operation {

    record FeedTokens(CudaTensor drawn, CudaTensor sources, CudaTensor tokens) implements Operation {
    }

    record Embed(CudaTensor tokens, CudaWeight table, CudaTensor hidden) implements Operation {
    }

    record RmsNorm(CudaTensor input, CudaTensor weight, float epsilon, CudaTensor output) implements Operation {
    }

    record AddRmsNorm(CudaTensor residual, CudaTensor addend, CudaTensor weight, float epsilon, CudaTensor output)
            implements Operation {
    }

    record Matmul(CudaTensor input, CudaWeight weight, CudaTensor output) implements Operation {
    }

    /** What becomes of heads before they are kept, as {@code QkvSpec} says; all tensors F32. */
    record HeadWork(@Nullable CudaTensor bias, @Nullable CudaTensor queryNorm, @Nullable CudaTensor keyNorm,
                    float epsilon, @Nullable CudaTensor rotary) {
    }

    record RotateAndStore(CudaTensor qkv, HeadWork work, CudaTensor positions, CudaTensor slots, CudaKvCache cache,
                          int layer) implements Operation {
    }

    /** @param spec without sinks */
    record Attention(CudaTensor qkv, AttentionSpec spec, CudaTensor blockTables, int tableStride, CudaKvCache cache,
                     int layer, CudaTensor output) implements Operation {
    }

    record Gate(CudaTensor gateUp, GateActivation activation, CudaTensor output) implements Operation {
    }

    record Scale(CudaTensor values, float factor) implements Operation {
    }

    record SoftCap(CudaTensor logits, float cap) implements Operation {
    }

    record GatherRows(CudaTensor input, CudaTensor rowIndexes, int firstIndex, CudaTensor output)
            implements Operation {
    }

    /** @param firstRow of all but the logits */
    record Score(CudaTensor logits, CudaTensor targets, CudaTensor counts, int firstRow, CudaTensor logprobs,
                 CudaTensor ranks, CudaTensor topIds, CudaTensor topLogprobs) implements Operation {
    }

    record Sample(CudaTensor logits, CudaTensor seeds, CudaTensor counters, CudaTensor temperatures, CudaTensor topKs,
                  CudaTensor topPs, CudaTensor wanted, CudaTensor tokens, CudaTensor logprobs,
                  @Nullable Adjustment adjustment) implements Operation {
    }

    /** @param drawnBefore by the step before, read by {@code sources} */
    record Adjustment(CudaTensor modes, CudaTensor starts, CudaTensor sources, CudaTensor drawnBefore,
                      CudaTensor repetitions, CudaTensor frequencies, CudaTensor presences, CudaTensor cuts,
                      CudaTensor ids, CudaTensor biases, CudaTensor notes, CudaTensor raws) {
    }
}
