package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.AttentionSpec;
import dev.warmpath.worker.compute.Bf16;
import dev.warmpath.worker.compute.CacheShape;
import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.Completion;
import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.KvCache;
import dev.warmpath.worker.compute.PagedBatch;
import dev.warmpath.worker.compute.Recording;
import dev.warmpath.worker.compute.SampledTokens;
import dev.warmpath.worker.compute.SamplingInputs;
import dev.warmpath.worker.compute.StepOutput;
import dev.warmpath.worker.compute.Tensor;
import dev.warmpath.worker.compute.WeightFormat;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;

/**
 * A backend on the emulated device, arrays carried there and back, and the smallest model there is: a token's
 * successor is written in its row of the embedding.
 */
final class BackendRig implements AutoCloseable {

    static final int VOCABULARY = 8;
    /** Successors: 0 → 3 → 6 → 1 → 4 → 7 → 2 → 5 → 0. */
    static final int STRIDE = 3;

    final FakeCuda fake = FakeCuda.open();
    final CudaBackend backend;
    final Arena arena = Arena.ofConfined();

    BackendRig() {
        this(CacheType.BF16);
    }

    BackendRig(CacheType cacheType) {
        backend = CudaBackend.on(fake.openDevice(), cacheType);
    }

    // ---- values

    Tensor ints(int... values) {
        Tensor tensor = backend.allocate(DataType.I32, values.length, 1);
        write(tensor, values);
        return tensor;
    }

    void write(Tensor tensor, int... values) {
        try (var scratch = Arena.ofConfined()) {                       // dead once the call is back
            backend.write(tensor, scratch.allocateFrom(ValueLayout.JAVA_INT, values));
        }
    }

    Tensor floats(int rows, int columns, float... values) {
        Tensor tensor = backend.allocate(DataType.F32, rows, columns);
        backend.write(tensor, arena.allocateFrom(ValueLayout.JAVA_FLOAT, values));
        return tensor;
    }

    Tensor longs(long... values) {
        Tensor tensor = backend.allocate(DataType.I64, values.length, 1);
        backend.write(tensor, arena.allocateFrom(ValueLayout.JAVA_LONG, values));
        return tensor;
    }

    Tensor activations(int rows, int columns, float value) {
        Tensor tensor = backend.allocate(DataType.BF16, rows, columns);
        backend.write(tensor, bf16(rows * columns, value));
        return tensor;
    }

    MemorySegment bf16(int count, float value) {
        MemorySegment values = arena.allocate(ValueLayout.JAVA_SHORT, count);
        for (int i = 0; i < count; i++) {
            values.setAtIndex(ValueLayout.JAVA_SHORT, i, Bf16.of(value));
        }
        return values;
    }

    int[] readInts(Tensor tensor) {
        MemorySegment values = arena.allocate(ValueLayout.JAVA_INT, (long) tensor.rows() * tensor.columns());
        backend.read(tensor, tensor.rows(), values);
        return values.toArray(ValueLayout.JAVA_INT);
    }

    float[] readFloats(Tensor tensor) {
        if (tensor.type() == DataType.F32) {
            MemorySegment values = arena.allocate(ValueLayout.JAVA_FLOAT, (long) tensor.rows() * tensor.columns());
            backend.read(tensor, tensor.rows(), values);
            return values.toArray(ValueLayout.JAVA_FLOAT);
        }
        MemorySegment values = arena.allocate(ValueLayout.JAVA_SHORT, (long) tensor.rows() * tensor.columns());
        backend.read(tensor, tensor.rows(), values);
        float[] floats = new float[tensor.rows() * tensor.columns()];
        for (int i = 0; i < floats.length; i++) {
            floats[i] = Bf16.toFloat(values.getAtIndex(ValueLayout.JAVA_SHORT, i));
        }
        return floats;
    }

    SampledTokens sampled(int rows) {
        return new SampledTokens(backend.allocate(DataType.I32, rows, 1), backend.allocate(DataType.F32, rows, 1));
    }

    // ---- the model

    /** Its tensors for steps of up to so many rows. */
    final class Successor {

        final Tensor tokens;
        final Tensor table = backend.allocateWeight(VOCABULARY, VOCABULARY);
        final Tensor head = backend.allocateWeight(VOCABULARY, VOCABULARY);
        final Tensor hidden;
        final Tensor logits;
        final SamplingInputs greedy;
        private final Recording recording = new Recording();

        Successor(int rows) {
            tokens = backend.allocate(DataType.I32, rows, 1);
            hidden = backend.allocate(DataType.BF16, rows, VOCABULARY);
            logits = backend.allocate(DataType.F32, rows, VOCABULARY);
            float[] successors = new float[VOCABULARY * VOCABULARY];
            float[] unit = new float[VOCABULARY * VOCABULARY];
            for (int token = 0; token < VOCABULARY; token++) {
                successors[token * VOCABULARY + (token + STRIDE) % VOCABULARY] = 1;
                unit[token * VOCABULARY + token] = 1;
            }
            backend.upload(table, 0, VOCABULARY, WeightFormat.F32, arena.allocateFrom(ValueLayout.JAVA_FLOAT, successors));
            backend.upload(head, 0, VOCABULARY, WeightFormat.F32, arena.allocateFrom(ValueLayout.JAVA_FLOAT, unit));
            greedy = new SamplingInputs(longs(new long[rows]), ints(new int[rows]), floats(rows, 1, new float[rows]),
                    ints(new int[rows]), floats(rows, 1, new float[rows]), ints(new int[rows]));
        }

        /** Enqueues all but the writes. */
        void compute(SampledTokens drawn, int rows) {
            backend.repeat(recording, new PagedBatch(tokens, tokens, tokens, tokens, tokens, rows, rows, 1), () -> {
                backend.embed(tokens, table, hidden, rows);
                backend.matmul(hidden, head, logits, rows);
            });
            backend.sample(logits, greedy, drawn, rows);
        }

        Completion submit(SampledTokens drawn, int... values) {
            write(tokens, values);
            compute(drawn, values.length);
            return backend.submit(drawn, values.length);
        }
    }

    int[] await(Completion completion, int rows) {
        var output = new StepOutput(Math.max(1, rows));
        backend.await(completion, output);
        int[] tokens = new int[output.count()];
        Arrays.setAll(tokens, output::token);
        return tokens;
    }

    // ---- blocks of a cache with one KV head of 32 elements, each block filled with one value

    KvCache cache(int blockCount, int hostBlockCount) {
        return backend.allocateKvCache(new CacheShape(2, 1, 32, 16), blockCount, hostBlockCount);
    }

    /** A value that bfloat16 holds exactly. */
    void fill(KvCache cache, int block, float value) {
        int[] slots = new int[16];
        Arrays.setAll(slots, offset -> block * 16 + offset);
        var batch = new PagedBatch(ints(new int[16]), ints(slots), ints(block), ints(0, 16), ints(16), 16, 1, 1);
        Tensor qkv = activations(16, 96, value);
        Tensor rotary = floats(1, 32, new float[32]);
        for (int layer = 0; layer < 2; layer++) {
            backend.rotateAndStoreKv(qkv, rotary, batch, cache, layer);
        }
    }

    /** What a query makes of a block's last layer: all its values are equal, and so is their mean. */
    float seen(KvCache cache, int block) {
        var batch = new PagedBatch(ints(15), ints(-1), ints(block), ints(0, 1), ints(16), 1, 1, 1);
        Tensor output = backend.allocate(DataType.BF16, 1, 32);
        backend.pagedAttention(activations(1, 96, 1), AttentionSpec.plain(32), null, batch, cache, 1, output);
        float[] values = readFloats(output);
        for (float value : values) {
            if (value != values[0]) {
                throw new AssertionError("a mixed block: " + Arrays.toString(values));
            }
        }
        return values[0];
    }

    @Override
    public void close() {
        backend.close();
        arena.close();
    }
}
