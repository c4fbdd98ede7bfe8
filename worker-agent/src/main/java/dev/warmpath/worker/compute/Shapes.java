package dev.warmpath.worker.compute;

import java.lang.foreign.MemorySegment;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What the contract of {@link ComputeBackend} asks of shapes, types and ids, for every backend alike. What is violated
 * is an {@link IllegalArgumentException}.
 */
public final class Shapes {

    private Shapes() {
    }

    /** For constant sentences: one that is formatted would be formatted on every call. */
    public static void require(boolean condition, String violation) {
        if (!condition) {
            throw new IllegalArgumentException(violation);
        }
    }

    public static void rows(Tensor tensor, int rowCount) {
        if (rowCount < 0 || rowCount > tensor.rows()) {
            throw new IllegalArgumentException("%d rows asked of a tensor of %d".formatted(rowCount, tensor.rows()));
        }
    }

    public static void typed(Tensor tensor, DataType type, int rowCount) {
        rows(tensor, rowCount);
        if (tensor.type() != type) {
            throw new IllegalArgumentException("tensor is %s, takes %s".formatted(tensor.type(), type));
        }
    }

    public static void storedRows(int columns, List<StoredRows> rows) {
        for (StoredRows stored : rows) {
            require(stored.format().isWhole(columns), "a weight of rows that end within a block");
        }
    }

    public static void upload(Tensor weight, int firstRow, int rowCount, WeightFormat format, MemorySegment values) {
        require(firstRow >= 0 && rowCount >= 0 && firstRow + rowCount <= weight.rows(),
                "upload of rows past the weight's end");
        require(format.isWhole(weight.columns()), "upload of rows that end within a block");
        require(values.byteSize() == format.bytes((long) rowCount * weight.columns()), "upload of another size");
    }

    public static void write(Tensor target, MemorySegment values) {
        require(values.byteSize() <= (long) target.rows() * target.columns() * target.type().bytes(),
                "write past the tensor's end");
    }

    public static void embed(Tensor table, Tensor hidden) {
        require(hidden.columns() == table.columns(), "embedding and hidden state differ in width");
    }

    /** Query heads in a fused projection [tokens, (queryHeads + 2 · kvHeads) · headSize]. */
    public static int queryHeads(Tensor qkv, CacheShape shape) {
        int queryHeads = qkv.columns() / shape.headSize() - 2 * shape.kvHeadCount();
        if (qkv.columns() % shape.headSize() != 0 || queryHeads < shape.kvHeadCount()
                || queryHeads % shape.kvHeadCount() != 0) {
            throw new IllegalArgumentException("no query heads fit %d columns and %s".formatted(qkv.columns(), shape));
        }
        return queryHeads;
    }

    /** @return as {@link #queryHeads} */
    public static int qkv(Tensor qkv, QkvSpec spec, CacheShape shape) {
        if (spec.bias() != null) {
            typed(spec.bias(), DataType.F32, 1);
            require(spec.bias().columns() == qkv.columns(), "bias and projection differ in width");
        }
        if (spec.norms() != null) {
            headNorm(spec.norms().query(), shape);
            headNorm(spec.norms().key(), shape);
        }
        int turned = spec.turnedElements();
        require(turned % 2 == 0 && turned <= shape.headSize(), "as many elements are turned as no head has");
        return queryHeads(qkv, shape);
    }

    private static void headNorm(Tensor weight, CacheShape shape) {
        typed(weight, DataType.F32, 1);
        require(weight.columns() == shape.headSize(), "a head's norm differs from it in width");
    }

    public static void attention(int queryHeads, CacheShape shape, AttentionSpec spec, @Nullable Tensor sinks,
                                 Tensor output) {
        require(output.columns() == queryHeads * shape.headSize(), "attention output differs in width");
        require(spec.sinks() == (sinks != null), "sinks are given exactly if the attention has them");
        require(sinks == null || sinks.columns() == queryHeads, "a sink is for each query head");
    }

    public static void matmul(Tensor input, Tensor weight, Tensor output) {
        if (input.columns() != weight.columns() || output.columns() != weight.rows() || input == output) {
            throw new IllegalArgumentException("no product of [%d, %d] and [%d, %d]ᵀ into [%d, %d]".formatted(
                    input.rows(), input.columns(), weight.rows(), weight.columns(), output.rows(), output.columns()));
        }
    }

    public static void norm(Tensor input, Tensor weight, Tensor output) {
        require(input.columns() == weight.columns() && output.columns() == weight.columns() && weight.rows() == 1,
                "norm over different widths");
    }

    public static void gate(Tensor gateUp, Tensor output) {
        require(gateUp.columns() == 2 * output.columns(), "gate and up are not twice the output's width");
    }

    public static void softCap(Tensor logits, float cap, int rowCount) {
        typed(logits, DataType.F32, rowCount);
        require(cap > 0, "a soft cap is above 0");
    }

    public static void gather(Tensor input, int firstIndex, Tensor output) {
        require(firstIndex >= 0 && firstIndex % ComputeBackend.INDEX_STEP == 0,
                "indexes are read from multiples of 4 on");
        require(output.columns() == input.columns(), "gathered rows differ in width");
    }

    /** @param firstRow of what is asked and told, for the first of {@code rowCount} rows of logits */
    public static void score(Tensor logits, ScoreInputs inputs, ScoredTokens output, int firstRow, int rowCount) {
        typed(logits, DataType.F32, rowCount);
        require(firstRow >= 0, "no row before the first is scored");
        typed(inputs.targets(), DataType.I32, firstRow + rowCount);
        typed(inputs.counts(), DataType.I32, firstRow + rowCount);
        typed(output.logprobs(), DataType.F32, firstRow + rowCount);
        typed(output.ranks(), DataType.I32, firstRow + rowCount);
        typed(output.topIds(), DataType.I32, firstRow + rowCount);
        typed(output.topLogprobs(), DataType.F32, firstRow + rowCount);
        require(output.topIds().columns() == ScoredTokens.MOST_LIKELIEST
                && output.topLogprobs().columns() == ScoredTokens.MOST_LIKELIEST,
                "rows of the likeliest tokens are as wide as the most that may be asked for");
    }

    /** What a step brings back. */
    public static void submit(SampledTokens sampled, int rowCount, @Nullable ScoredTokens scored, int scoredCount) {
        rows(sampled.tokens(), rowCount);
        require(scored != null || scoredCount == 0, "rows are scored, but nowhere");
        if (scored != null) {
            rows(scored.ranks(), scoredCount);
        }
    }

    public static void cache(int blockCount, int hostBlockCount) {
        require(blockCount >= 1 && hostBlockCount >= 0, "a cache has at least the null block");
    }

    /** @throws ComputeException if the direction needs a host tier and the cache has none */
    public static void copyBlocks(KvCache cache, BlockMapping mapping, CopyDirection direction) {
        if (direction != CopyDirection.DEVICE_TO_DEVICE && cache.hostBlockCount() == 0) {
            throw new ComputeException("the cache has no host tier to copy blocks " + direction);
        }
        int sources = direction == CopyDirection.HOST_TO_DEVICE ? cache.hostBlockCount() : cache.blockCount();
        int targets = direction == CopyDirection.DEVICE_TO_HOST ? cache.hostBlockCount() : cache.blockCount();
        for (int pair = 0; pair < mapping.count(); pair++) {
            requireBlock(mapping.source(pair), sources, "source", direction);
            requireBlock(mapping.target(pair), targets, "target", direction);
        }
    }

    private static void requireBlock(int block, int count, String what, CopyDirection direction) {
        if (block < 0 || block >= count) {
            throw new IllegalArgumentException("copy %s: %s block %d, takes 0 to %d"
                    .formatted(direction, what, block, count - 1));
        }
    }
}
