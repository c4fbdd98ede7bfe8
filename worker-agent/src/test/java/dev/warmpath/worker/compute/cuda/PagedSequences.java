package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.AttentionSpec;
import dev.warmpath.worker.compute.CacheShape;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.DeviceData;
import dev.warmpath.worker.compute.KvCache;
import dev.warmpath.worker.compute.PagedBatch;
import dev.warmpath.worker.compute.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.function.UnaryOperator;

/**
 * Sequences of one layer whose last tokens attend, and what float64 makes of them. Blocks are shuffled over a cache
 * that held NaN everywhere before, outputs are NaN before they are written.
 */
final class PagedSequences {

    private static final int BLOCK_TOKENS = 16;

    /**
     * One sequence.
     * @param context positions it has, the attending ones included
     * @param tokens  how many of the last positions attend
     * @param qkv     [context, columns], rows of queries, keys and values, angle 0
     */
    record Sequence(int context, int tokens, float[] qkv) {}

    private final int heads;
    private final int kvHeads;
    private final int headSize;
    private final AttentionSpec spec;
    private final List<Sequence> sequences = new ArrayList<>();

    PagedSequences(int heads, int kvHeads, int headSize) {
        this(heads, kvHeads, headSize, AttentionSpec.plain(headSize));
    }

    PagedSequences(int heads, int kvHeads, int headSize, AttentionSpec spec) {
        this.heads = heads;
        this.kvHeads = kvHeads;
        this.headSize = headSize;
        this.spec = spec;
    }

    /** Adds a sequence with numbers of its own, evenly drawn from -2 to 2 and kept as bfloat16 keeps them. */
    PagedSequences add(int context, int tokens) {
        var random = new Random(31L * sequences.size() + context);
        float[] qkv = new float[context * columns()];
        for (int i = 0; i < qkv.length; i++) {
            qkv[i] = Float.intBitsToFloat(Float.floatToIntBits(4 * random.nextFloat() - 2) & 0xFFFF_0000);
        }
        sequences.add(new Sequence(context, tokens, qkv));
        return this;
    }

    /**
     * Adds a sequence of given numbers, of which the last tokens attend.
     * @param qkv [context, columns], values that bfloat16 holds
     */
    PagedSequences add(float[] qkv, int tokens) {
        sequences.add(new Sequence(qkv.length / columns(), tokens, qkv));
        return this;
    }

    PagedSequences only(int index) {
        var one = new PagedSequences(heads, kvHeads, headSize, spec);
        one.sequences.add(sequences.get(index));
        return one;
    }

    int count() {
        return sequences.size();
    }

    Sequence sequence(int index) {
        return sequences.get(index);
    }

    private int columns() {
        return (heads + 2 * kvHeads) * headSize;
    }

    int outputColumns() {
        return heads * headSize;
    }

    /** Attention of all of them in one step. @return of each sequence its tokens' rows */
    List<float[]> attend(ComputeBackend backend) {
        try (var data = new DeviceData(backend)) {
            int blocks = 0;
            int stride = 1;
            for (Sequence sequence : sequences) {
                int needed = Math.ceilDiv(sequence.context(), BLOCK_TOKENS);
                blocks += needed;
                stride = Math.max(stride, needed);
            }
            var cache = backend.allocateKvCache(
                    new CacheShape(1, kvHeads, headSize, BLOCK_TOKENS), blocks + 1, 0);
            int[][] tables = shuffledTables(blocks, stride);
            Tensor rotary = data.floats(1, headSize, unturned());
            poison(data, cache, rotary);
            for (int i = 0; i < count(); i++) {
                store(data, cache, rotary, sequences.get(i), tables[i]);
                int first = spec.firstSeen(sequences.get(i).context() - sequences.get(i).tokens());
                Arrays.fill(tables[i], 0, Math.max(0, first) / BLOCK_TOKENS, 0);    // forgotten: the null block's NaN
            }
            return attend(data, cache, tables, stride);
        }
    }

    private int[][] shuffledTables(int blocks, int stride) {
        List<Integer> ids = new ArrayList<>();
        for (int id = 1; id <= blocks; id++) {
            ids.add(id);
        }
        Collections.shuffle(ids, new Random(blocks));
        int[][] tables = new int[count()][stride];
        int next = 0;
        for (int i = 0; i < count(); i++) {
            Arrays.fill(tables[i], Integer.MAX_VALUE);          // entries past the context are not read
            for (int block = 0; block < Math.ceilDiv(sequences.get(i).context(), BLOCK_TOKENS); block++) {
                tables[i][block] = ids.get(next++);
            }
        }
        return tables;
    }

    private float[] unturned() {
        float[] angles = new float[headSize];
        Arrays.fill(angles, 0, headSize / 2, 1);
        return angles;
    }

    private void poison(DeviceData data, KvCache cache, Tensor rotary) {
        int slots = cache.blockCount() * BLOCK_TOKENS;
        float[] nan = new float[slots * columns()];
        Arrays.fill(nan, Float.NaN);
        int[] all = new int[slots];
        Arrays.setAll(all, slot -> slot);
        storeRows(data, cache, rotary, nan, all);
    }

    private void store(DeviceData data, KvCache cache, Tensor rotary, Sequence sequence, int[] table) {
        if (sequence.context() > 0) {
            int[] slots = new int[sequence.context()];
            Arrays.setAll(slots, position -> table[position / BLOCK_TOKENS] * BLOCK_TOKENS + position % BLOCK_TOKENS);
            storeRows(data, cache, rotary, sequence.qkv(), slots);
        }
    }

    private void storeRows(DeviceData data, KvCache cache, Tensor rotary, float[] rows, int[] slots) {
        var batch = new PagedBatch(data.ints(new int[slots.length]), data.ints(slots), data.ints(0),
                data.ints(0, slots.length), data.ints(slots.length), slots.length, 1, 1);
        data.backend().rotateAndStoreKv(
                data.activations(slots.length, columns(), rows), rotary, batch, cache, 0);
    }

    private List<float[]> attend(DeviceData data, KvCache cache, int[][] tables, int stride) {
        int[] starts = new int[count() + 1];
        int[] contexts = new int[count()];
        for (int i = 0; i < count(); i++) {
            starts[i + 1] = starts[i] + sequences.get(i).tokens();
            contexts[i] = sequences.get(i).context();
        }
        int rows = starts[count()];
        float[] queries = new float[rows * columns()];
        for (int i = 0; i < count(); i++) {
            Sequence sequence = sequences.get(i);
            System.arraycopy(sequence.qkv(), (sequence.context() - sequence.tokens()) * columns(), queries,
                    starts[i] * columns(), sequence.tokens() * columns());
        }
        int[] flat = Arrays.stream(tables).flatMapToInt(Arrays::stream).toArray();
        var batch = new PagedBatch(data.ints(new int[rows]), data.ints(new int[rows]), data.ints(flat),
                data.ints(starts), data.ints(contexts), rows, count(), stride);
        float[] nan = new float[rows * outputColumns()];
        Arrays.fill(nan, Float.NaN);
        Tensor output = data.activations(rows, outputColumns(), nan);
        data.backend().pagedAttention(data.activations(rows, columns(), queries),
                spec, null, batch, cache, 0, output);
        float[] all = data.read(output);
        List<float[]> outputs = new ArrayList<>();
        for (int i = 0; i < count(); i++) {
            outputs.add(Arrays.copyOfRange(all, starts[i] * outputColumns(), starts[i + 1] * outputColumns()));
        }
        return outputs;
    }

    /**
     * What float64 makes of a sequence.
     * @param kept how the cache keeps a key or value of one head, [headSize]
     * @return its attending tokens' rows
     */
    double[] reference(int index, UnaryOperator<double[]> kept) {
        Sequence sequence = sequences.get(index);
        double[] cached = new double[sequence.qkv().length];
        Arrays.setAll(cached, i -> sequence.qkv()[i]);
        for (int start = 0; start < cached.length; start += headSize) {
            if (start % columns() >= heads * headSize) {
                double[] row = kept.apply(Arrays.copyOfRange(cached, start, start + headSize));
                System.arraycopy(row, 0, cached, start, headSize);
            }
        }
        double[] rows = new double[sequence.tokens() * outputColumns()];
        for (int token = 0; token < sequence.tokens(); token++) {
            for (int head = 0; head < heads; head++) {
                attend(cached, sequence.context() - sequence.tokens() + token, head, rows,
                        token * outputColumns() + head * headSize);
            }
        }
        return rows;
    }

    private void attend(double[] qkv, int position, int head, double[] rows, int target) {
        int query = position * columns() + head * headSize;
        int key = (heads + head / (heads / kvHeads)) * headSize;
        double[] weights = new double[position + 1];
        double largest = Double.NEGATIVE_INFINITY;
        int first = spec.firstSeen(position);
        for (int seen = first; seen <= position; seen++) {
            for (int i = 0; i < headSize; i++) {
                weights[seen] += qkv[query + i] * qkv[seen * columns() + key + i];
            }
            weights[seen] *= spec.scale();
            if (spec.softCap() != AttentionSpec.NO_CAP) {
                weights[seen] = spec.softCap() * Math.tanh(weights[seen] / spec.softCap());
            }
            largest = Math.max(largest, weights[seen]);
        }
        double sum = 0;
        for (int seen = first; seen <= position; seen++) {
            weights[seen] = Math.exp(weights[seen] - largest);
            sum += weights[seen];
        }
        for (int seen = first; seen <= position; seen++) {
            for (int i = 0; i < headSize; i++) {
                rows[target + i] += weights[seen] / sum * qkv[seen * columns() + key + kvHeads * headSize + i];
            }
        }
    }
}
