package dev.warmpath.worker.compute.cpu;

import dev.warmpath.worker.compute.AttentionSpec;
import dev.warmpath.worker.compute.BlockMapping;
import dev.warmpath.worker.compute.CacheShape;
import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.Completion;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.ComputeException;
import dev.warmpath.worker.compute.CopyDirection;
import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.KvCache;
import dev.warmpath.worker.compute.LogitAdjustments;
import dev.warmpath.worker.compute.OutstandingSteps;
import dev.warmpath.worker.compute.PagedBatch;
import dev.warmpath.worker.compute.QkvSpec;
import dev.warmpath.worker.compute.SampledTokens;
import dev.warmpath.worker.compute.SamplingInputs;
import dev.warmpath.worker.compute.ScoreInputs;
import dev.warmpath.worker.compute.ScoredTokens;
import dev.warmpath.worker.compute.Shapes;
import dev.warmpath.worker.compute.StepOutput;
import dev.warmpath.worker.compute.Tensor;
import dev.warmpath.worker.compute.WeightFormat;
import java.lang.foreign.MemorySegment;
import java.util.OptionalLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What processors have in common: everything that is not a hot loop. Operations run when they are enqueued, in the
 * calling thread; {@link #await} only hands over what is there.
 */
abstract class CpuBackend implements ComputeBackend {

    final ThreadTeam team;
    private final CacheType cacheType;
    private final LogitRows logitRows;
    private final OutstandingSteps<Results> outstanding = new OutstandingSteps<>();

    /** What a step brings, where it lies. */
    private record Results(SampledTokens sampled, @Nullable ScoredTokens scored) {}

    /**
     * @param threads   that compute, the caller included
     * @param name      that threads have
     * @param cacheType F32 or BF16
     * @param loops     over logits; asked once for each thread
     */
    CpuBackend(int threads, String name, CacheType cacheType, Supplier<LogitLoops> loops) {
        if (cacheType.bytes() < CacheType.BF16.bytes()) {
            throw new IllegalArgumentException("processors keep no keys and values as " + cacheType.label());
        }
        this.team = new ThreadTeam(threads, name);
        this.cacheType = cacheType;
        this.logitRows = new LogitRows(team, loops);
    }

    @Override
    public final DataType activationType() {
        return DataType.F32;
    }

    /** Loops take any size and any attention. */
    @Override
    public final @Nullable String lack(CacheShape shape, int queryHeadCount, int turnedElements,
            AttentionSpec attention, int... widths) {
        return null;
    }

    @Override
    public final Tensor allocate(DataType type, int rows, int columns) {
        return new CpuTensor(type, rows, columns);
    }

    @Override
    public final void upload(Tensor weight, int firstRow, int rowCount, WeightFormat format,
            MemorySegment values) {
        Shapes.upload(weight, firstRow, rowCount, format, values);
        Handles.weight(weight).upload(firstRow, rowCount, format, values);
    }

    @Override
    public final KvCache allocateKvCache(CacheShape shape, int blockCount, int hostBlockCount) {
        Shapes.cache(blockCount, hostBlockCount);
        int most = Math.max(blockCount, hostBlockCount);
        if (most > mostBlocks(shape)) {
            throw new ComputeException(
                    "%d blocks of %s: a layer's keys are past the longest array".formatted(most, shape));
        }
        return new CpuKvCache(shape, cacheType, blockCount, hostBlockCount);
    }

    @Override
    public final int mostBlocks(CacheShape shape) {
        return (Integer.MAX_VALUE - CpuKvCache.SLACK) / CpuKvCache.blockLength(shape, cacheType);
    }

    @Override
    public final long bytesPerBlock(CacheShape shape) {
        return 2L * shape.layerCount() * shape.blockElements() * cacheType.bytes();
    }

    @Override
    public final CacheType cacheType() {
        return cacheType;
    }

    @Override
    public final int kernelBlockSize() {
        return 0;
    }

    @Override
    public final OptionalLong freeMemory() {
        return OptionalLong.empty();
    }

    @Override
    public final OptionalLong totalMemory() {
        return OptionalLong.empty();
    }

    @Override
    public final long bytesBesideCache(CacheShape shape, int hostBlockCount) {
        return 0;
    }

    @Override
    public final void write(Tensor target, MemorySegment values) {
        Shapes.write(target, values);
        Handles.tensor(target).write(values);
    }

    @Override
    public final void read(Tensor source, int rowCount, MemorySegment values) {
        Shapes.rows(source, rowCount);
        Handles.tensor(source).read(rowCount, values);
    }

    @Override
    public final void feedTokens(SampledTokens drawn, Tensor sources, Tensor tokens, int rowCount) {
        int[] rows = Handles.ints(sources, rowCount);
        int[] target = Handles.ints(tokens, rowCount);
        int[] source = Handles.ints(drawn.tokens(), 0);
        for (int row = 0; row < rowCount; row++) {
            if (rows[row] >= 0) {
                int token = source[rows[row]];
                target[row] = Math.max(token, 0);
            }
        }
    }

    @Override
    public final void embed(Tensor tokens, Tensor table, Tensor hidden, int rowCount) {
        var weight = Handles.weight(table);
        Shapes.embed(table, hidden);
        int[] ids = Handles.ints(tokens, rowCount);
        float[] target = Handles.floats(hidden, rowCount);
        for (int row = 0; row < rowCount; row++) {
            weight.widenRow(ids[row], target, row * table.columns());
        }
    }

    @Override
    public final void rotateAndStoreKv(Tensor qkv, QkvSpec spec, PagedBatch batch, KvCache cache, int layer) {
        var pages = (CpuKvCache) cache;
        int headSize = cache.shape().headSize();
        int kvHeads = cache.shape().kvHeadCount();
        int queryHeads = Shapes.qkv(qkv, spec, cache.shape());
        float[] source = Handles.floats(qkv, batch.tokenCount());
        int[] positions = Handles.ints(batch.positions(), batch.tokenCount());
        int[] slots = Handles.ints(batch.slotMapping(), batch.tokenCount());
        for (int token = 0; token < batch.tokenCount(); token++) {
            int start = token * qkv.columns();
            int keyStart = start + queryHeads * headSize;
            int valueStart = keyStart + kvHeads * headSize;
            if (spec.bias() != null) {
                addRow(source, start, Handles.floats(spec.bias(), 1));
            }
            if (spec.norms() != null) {
                float epsilon = spec.norms().epsilon();
                normHeads(source, start, keyStart, Handles.floats(spec.norms().query(), 1), epsilon);
                normHeads(source, keyStart, valueStart, Handles.floats(spec.norms().key(), 1), epsilon);
            }
            if (spec.rotary() != null) {
                rotateHeads(source, start, valueStart, headSize, Handles.floats(spec.rotary(), 0),
                        positions[token] * spec.turnedElements(), spec.turnedElements() / 2);
            }
            if (slots[token] >= 0) {
                pages.store(layer, slots[token], source, keyStart, valueStart);
            }
        }
    }

    private static void addRow(float[] row, int start, float[] addend) {
        for (int i = 0; i < addend.length; i++) {
            row[start + i] += addend[i];
        }
    }

    private static void normHeads(float[] row, int start, int end, float[] weight, float epsilon) {
        for (int head = start; head < end; head += weight.length) {
            float squares = 0;
            for (int i = 0; i < weight.length; i++) {
                squares = Math.fma(row[head + i], row[head + i], squares);
            }
            float scale = (float) (1 / Math.sqrt(squares / weight.length + epsilon));
            for (int i = 0; i < weight.length; i++) {
                row[head + i] = row[head + i] * scale * weight[i];
            }
        }
    }

    private static void rotateHeads(float[] row, int start, int end, int headSize, float[] angles, int angleStart,
            int half) {
        for (int head = start; head < end; head += headSize) {
            for (int i = 0; i < half; i++) {
                float cos = angles[angleStart + i];
                float sin = angles[angleStart + half + i];
                float a = row[head + i];
                float b = row[head + half + i];
                row[head + i] = a * cos - b * sin;
                row[head + half + i] = b * cos + a * sin;
            }
        }
    }

    @Override
    public final void scale(Tensor rows, float factor, int rowCount) {
        float[] values = Handles.floats(rows, rowCount);
        for (int i = 0; i < rowCount * rows.columns(); i++) {
            values[i] *= factor;
        }
    }

    @Override
    public final void gatherRows(Tensor input, Tensor rowIndexes, int firstIndex, Tensor output, int rowCount) {
        int columns = input.columns();
        Shapes.gather(input, firstIndex, output);
        int[] indexes = Handles.ints(rowIndexes, firstIndex + rowCount);
        float[] source = Handles.floats(input, 0);
        float[] target = Handles.floats(output, rowCount);
        for (int row = 0; row < rowCount; row++) {
            System.arraycopy(source, indexes[firstIndex + row] * columns, target, row * columns, columns);
        }
    }

    @Override
    public final void sample(Tensor logits, SamplingInputs inputs, SampledTokens output, int rowCount) {
        logitRows.sample(logits, inputs, null, output, output, rowCount);
    }

    @Override
    public final void sampleAdjusted(Tensor logits, SamplingInputs inputs, LogitAdjustments adjustments,
            SampledTokens before, SampledTokens output, int rowCount) {
        logitRows.sample(logits, inputs, adjustments, before, output, rowCount);
    }

    @Override
    public final void score(Tensor logits, ScoreInputs inputs, ScoredTokens output, int firstRow, int rowCount) {
        Shapes.score(logits, inputs, output, firstRow, rowCount);
        logitRows.score(logits, inputs, output, firstRow, rowCount);
    }

    @Override
    public final void copyBlocks(KvCache cache, BlockMapping mapping, CopyDirection direction) {
        Shapes.copyBlocks(cache, mapping, direction);
        for (int pair = 0; pair < mapping.count(); pair++) {
            ((CpuKvCache) cache).copyBlock(mapping.source(pair), mapping.target(pair), direction);
        }
    }

    @Override
    public final Completion submit(SampledTokens sampled, int rowCount, @Nullable ScoredTokens scored,
            int scoredCount) {
        Shapes.submit(sampled, rowCount, scored, scoredCount);
        outstanding.requireFree(sampled);
        return outstanding.add(sampled, rowCount, scoredCount, new Results(sampled, scored));
    }

    @Override
    public final void await(Completion completion, StepOutput output) {
        var step = outstanding.take(completion, output);
        output.fill(ints(step.sampled().tokens()), floats(step.sampled().logprobs()), step.rowCount());
        ScoredTokens scored = step.result().scored();
        if (scored != null && step.scoredCount() > 0) {
            output.fillScores(floats(scored.logprobs()), ints(scored.ranks()), ints(scored.topIds()),
                    floats(scored.topLogprobs()), step.scoredCount());
        }
    }

    private static MemorySegment ints(Tensor tensor) {
        return MemorySegment.ofArray(Handles.ints(tensor, 0));
    }

    private static MemorySegment floats(Tensor tensor) {
        return MemorySegment.ofArray(Handles.floats(tensor, 0));
    }

    @Override
    public void close() {
        team.close();          // arrays go when their handles go
    }
}
