package dev.warmpath.worker.compute.cpu;

import dev.warmpath.worker.compute.AttentionSpec;
import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.GateActivation;
import dev.warmpath.worker.compute.KvCache;
import dev.warmpath.worker.compute.MemoryPlace;
import dev.warmpath.worker.compute.PagedBatch;
import dev.warmpath.worker.compute.Shapes;
import dev.warmpath.worker.compute.Tensor;
import dev.warmpath.worker.compute.WeightFormat;
import org.jspecify.annotations.Nullable;

/**
 * Plain loops, the truth that faster bodies are held to. Each sum runs in the order of its index, so every row is its
 * own, bit for bit. Single-threaded.
 */
public final class ScalarBackend extends CpuBackend {

    private float[] scores = new float[0];
    /** A head's keys or values in a block. */
    private float[] blockPart = new float[0];

    public ScalarBackend() {
        this(CacheType.F32);
    }

    /** @param cacheType of keys and values: F32 or BF16 */
    public ScalarBackend(CacheType cacheType) {
        super(1, "warmpath-scalar", cacheType, LogitLoops::new);
    }

    @Override
    public Tensor allocateWeight(int rows, int columns) {
        return new HeapWeight(rows, columns);
    }

    @Override
    public long weightBytes(WeightFormat format, int rows, int columns) {
        return HeapWeight.bytes(rows, columns);
    }

    @Override
    public MemoryPlace weightPlace() {
        return MemoryPlace.HEAP;
    }

    @Override
    public String name() {
        return "scalar";
    }

    @Override
    public void rmsNorm(Tensor input, Tensor weight, float epsilon, Tensor output, int rowCount) {
        Shapes.norm(input, weight, output);
        int columns = input.columns();
        float[] x = Handles.floats(input, rowCount);
        float[] w = Handles.floats(weight, 1);
        float[] y = Handles.floats(output, rowCount);
        for (int row = 0; row < rowCount; row++) {
            int start = row * columns;
            float squares = 0;
            for (int i = 0; i < columns; i++) {
                squares += x[start + i] * x[start + i];
            }
            float scale = (float) (1 / Math.sqrt(squares / columns + epsilon));
            for (int i = 0; i < columns; i++) {
                y[start + i] = x[start + i] * scale * w[i];
            }
        }
    }

    @Override
    public void addRmsNorm(Tensor residual, Tensor addend, Tensor weight, float epsilon, Tensor output, int rowCount) {
        Shapes.norm(addend, weight, output);
        float[] x = Handles.floats(residual, rowCount);
        float[] a = Handles.floats(addend, rowCount);
        for (int i = 0; i < rowCount * residual.columns(); i++) {
            x[i] += a[i];
        }
        rmsNorm(residual, weight, epsilon, output, rowCount);
    }

    @Override
    public void matmul(Tensor input, Tensor weight, Tensor output, int rowCount) {
        Shapes.matmul(input, weight, output);
        float[] x = Handles.floats(input, rowCount);
        float[] y = Handles.floats(output, rowCount);
        var w = (HeapWeight) Handles.weight(weight);
        for (int first = 0; first < weight.rows(); first += HeapWeight.PANEL_WIDTH) {
            int width = Math.min(HeapWeight.PANEL_WIDTH, weight.rows() - first);
            for (int row = 0; row < rowCount; row++) {
                multiplyPanel(x, row * input.columns(), input.columns(), w.panels, w.rowStart(first),
                        y, row * output.columns() + first, width);
            }
        }
    }

    private static void multiplyPanel(float[] x, int xStart, int depth, float[] panel, int panelStart,
                                      float[] y, int yStart, int width) {
        for (int n = 0; n < width; n++) {
            y[yStart + n] = 0;
        }
        for (int k = 0; k < depth; k++) {
            float factor = x[xStart + k];
            int start = panelStart + k * HeapWeight.PANEL_WIDTH;
            for (int n = 0; n < width; n++) {
                y[yStart + n] += factor * panel[start + n];
            }
        }
    }

    @Override
    public void pagedAttention(Tensor qkv, AttentionSpec spec, @Nullable Tensor sinks, PagedBatch batch, KvCache cache,
                               int layer, Tensor output) {
        int queryHeads = Shapes.queryHeads(qkv, cache.shape());
        int headSize = cache.shape().headSize();
        Shapes.attention(queryHeads, cache.shape(), spec, sinks, output);
        int[] starts = Handles.ints(batch.queryStarts(), batch.sequenceCount() + 1);
        int[] positions = Handles.ints(batch.positions(), batch.tokenCount());
        float[] queries = Handles.floats(qkv, batch.tokenCount());
        float[] outputs = Handles.floats(output, batch.tokenCount());
        for (int sequence = 0; sequence < batch.sequenceCount(); sequence++) {
            for (int token = starts[sequence]; token < starts[sequence + 1]; token++) {
                for (int head = 0; head < queryHeads; head++) {
                    float sink = sinks == null ? Float.NEGATIVE_INFINITY : Handles.floats(sinks, 1)[head];
                    attend(queries, token * qkv.columns() + head * headSize, spec, sink, positions[token],
                            (CpuKvCache) cache, layer, head / (queryHeads / cache.shape().kvHeadCount()),
                            Handles.ints(batch.blockTables(), 0), sequence * batch.blockTableStride(),
                            outputs, token * output.columns() + head * headSize);
                }
            }
        }
    }

    /** One query vector over the positions that the one at {@code last} sees. */
    private void attend(float[] query, int queryStart, AttentionSpec spec, float sink, int last, CpuKvCache cache,
                        int layer, int kvHead, int[] blockTable, int tableStart, float[] output, int outputStart) {
        int first = spec.firstSeen(last);
        int length = last + 1;
        int headSize = cache.shape().headSize();
        int blockSize = cache.shape().blockSize();
        if (blockPart.length < headSize * blockSize) {
            blockPart = new float[headSize * blockSize];
        }
        if (scores.length < length) {
            scores = new float[Math.max(length, 2 * scores.length)];
        }
        for (int block = first - first % blockSize; block < length; block += blockSize) {
            cache.readKeys(layer, blockTable[tableStart + block / blockSize], kvHead, blockPart);
            setProducts(query, queryStart, headSize, blockSize, block, Math.min(blockSize, length - block));
        }
        float max = sink;
        for (int position = first; position < length; position++) {
            scores[position] = score(scores[position], spec);
            max = Math.max(max, scores[position]);
        }
        float sum = 0;
        for (int position = first; position < length; position++) {
            scores[position] = (float) Math.exp(scores[position] - max);
            sum += scores[position];
        }
        sum += (float) Math.exp(sink - max);
        for (int i = 0; i < headSize; i++) {
            output[outputStart + i] = 0;
        }
        for (int block = first - first % blockSize; block < length; block += blockSize) {
            cache.readValues(layer, blockTable[tableStart + block / blockSize], kvHead, blockPart);
            for (int position = Math.max(first, block); position < Math.min(length, block + blockSize); position++) {
                addValue(scores[position] / sum, (position - block) * headSize, headSize, output, outputStart);
            }
        }
    }

    private void addValue(float weight, int value, int headSize, float[] output, int outputStart) {
        for (int i = 0; i < headSize; i++) {
            output[outputStart + i] += weight * blockPart[value + i];
        }
    }

    private static float score(float product, AttentionSpec spec) {
        double score = product * spec.scale();
        return (float) (spec.softCap() == AttentionSpec.NO_CAP ? score
                : spec.softCap() * Math.tanh(score / spec.softCap()));
    }

    /** Sets the scores of a block's positions to q · k, element after element. */
    private void setProducts(float[] query, int queryStart, int headSize, int blockSize, int firstPosition,
                             int count) {
        for (int offset = 0; offset < count; offset++) {
            scores[firstPosition + offset] = 0;
        }
        for (int i = 0; i < headSize; i++) {
            for (int offset = 0; offset < count; offset++) {
                scores[firstPosition + offset] += query[queryStart + i] * blockPart[i * blockSize + offset];
            }
        }
    }

    @Override
    public void gate(Tensor gateUp, GateActivation activation, Tensor output, int rowCount) {
        Shapes.gate(gateUp, output);
        int columns = output.columns();
        float[] x = Handles.floats(gateUp, rowCount);
        float[] y = Handles.floats(output, rowCount);
        for (int row = 0; row < rowCount; row++) {
            for (int i = 0; i < columns; i++) {
                float gate = x[row * 2 * columns + i];
                float up = x[row * 2 * columns + columns + i];
                y[row * columns + i] = (float) (gate / (1 + Math.exp(-exponent(gate, activation)))) * up;
            }
        }
    }

    private static double exponent(double x, GateActivation activation) {
        return switch (activation) {
            case SILU -> x;
            case GELU_TANH -> 2 * Math.sqrt(2 / Math.PI) * (x + 0.044715 * x * x * x);
        };
    }

    @Override
    public void softCap(Tensor logits, float cap, int rowCount) {
        Shapes.softCap(logits, cap, rowCount);
        float[] values = Handles.floats(logits, rowCount);
        for (int i = 0; i < rowCount * logits.columns(); i++) {
            values[i] = (float) (cap * Math.tanh(values[i] / cap));
        }
    }
}
