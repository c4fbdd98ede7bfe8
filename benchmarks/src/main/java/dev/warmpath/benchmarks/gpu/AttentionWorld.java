package dev.warmpath.benchmarks.gpu;

import dev.warmpath.worker.compute.AttentionSpec;
import dev.warmpath.worker.compute.CacheShape;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.KvCache;
import dev.warmpath.worker.compute.PagedBatch;
import dev.warmpath.worker.compute.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.util.SplittableRandom;

/**
 * A shape's queries, cached keys and values and shuffled block tables on a device, of one layer, through the seam: the
 * same operations that a model uses.
 */
final class AttentionWorld {

    static final int BLOCK_TOKENS = 16;
    private static final int LAYER = 0;
    private static final int CHECKED_ROWS = 64;

    private final ComputeBackend backend;
    private final AttentionShape shape;
    private final SplittableRandom random = new SplittableRandom(3);
    private final int columns;
    private final Tensor qkv;
    private final Tensor output;
    private final Tensor positions;
    private final Tensor slots;
    private final Tensor tables;
    private final Tensor queryStarts;
    private final Tensor contextLengths;
    private final KvCache cache;
    private final int[][] blocks;
    private final PagedBatch batch;

    AttentionWorld(ComputeBackend backend, AttentionShape shape) {
        this.backend = backend;
        this.shape = shape;
        this.columns = (shape.queryHeads() + 2 * shape.kvHeads()) * shape.headSize();
        qkv = backend.allocate(backend.activationType(), shape.tokens(), columns);
        output = backend.allocate(backend.activationType(), shape.tokens(), shape.queryHeads() * shape.headSize());
        positions = backend.allocate(DataType.I32, shape.tokens(), 1);
        slots = backend.allocate(DataType.I32, shape.tokens(), 1);
        tables = backend.allocate(DataType.I32, shape.sequences(), tableStride());
        queryStarts = backend.allocate(DataType.I32, shape.sequences() + 1, 1);
        contextLengths = backend.allocate(DataType.I32, shape.sequences(), 1);
        blocks = shuffledBlocks();
        int blockCount = 1;
        for (int[] table : blocks) {
            blockCount += table.length;
        }
        cache = backend.allocateKvCache(
                new CacheShape(1, shape.kvHeads(), shape.headSize(), BLOCK_TOKENS), blockCount, 0);
        RandomCache.fill(backend, cache, random);
        batch = new PagedBatch(positions, slots, tables, queryStarts, contextLengths, shape.tokens(),
                shape.sequences(), tableStride());
        writeBatch();
    }

    private int tableStride() {
        return Math.ceilDiv(shape.longestContext(), BLOCK_TOKENS);
    }

    /** Tables of all sequences out of one shuffled pool; block 0 is nobody's. */
    private int[][] shuffledBlocks() {
        int[][] byOwner = new int[shape.sequences()][];
        int count = 0;
        for (int i = 0; i < byOwner.length; i++) {
            byOwner[i] = new int[Math.ceilDiv(shape.contextLengths()[i], BLOCK_TOKENS)];
            count += byOwner[i].length;
        }
        int[] pool = new int[count];
        for (int i = 0; i < count; i++) {
            int j = random.nextInt(i + 1);
            pool[i] = pool[j];
            pool[j] = i + 1;
        }
        int taken = 0;
        for (int[] table : byOwner) {
            System.arraycopy(pool, taken, table, 0, table.length);
            taken += table.length;
        }
        return byOwner;
    }

    private int slot(int sequence, int position) {
        return blocks[sequence][position / BLOCK_TOKENS] * BLOCK_TOKENS + position % BLOCK_TOKENS;
    }

    /** The tokens that attend: the last ones of each sequence. */
    private void writeBatch() {
        try (var arena = Arena.ofConfined()) {
            backend.write(qkv, RandomBf16.ACTIVATION.matrix(arena, shape.tokens(), columns, random));
            int[] at = new int[shape.tokens()];
            int[] slot = new int[shape.tokens()];
            int[] starts = new int[shape.sequences() + 1];
            int[] padded = new int[shape.sequences() * tableStride()];
            int token = 0;
            for (int sequence = 0; sequence < shape.sequences(); sequence++) {
                int length = shape.contextLengths()[sequence];
                starts[sequence] = token;
                for (int position = length - shape.newTokens(); position < length; position++) {
                    at[token] = position;
                    slot[token++] = slot(sequence, position);
                }
                System.arraycopy(blocks[sequence], 0, padded, sequence * tableStride(), blocks[sequence].length);
            }
            starts[shape.sequences()] = token;
            write(arena, positions, at);
            write(arena, slots, slot);
            write(arena, queryStarts, starts);
            write(arena, tables, padded);
            write(arena, contextLengths, shape.contextLengths());
        }
    }

    private void write(Arena arena, Tensor target, int[] values) {
        backend.write(target, arena.allocateFrom(ValueLayout.JAVA_INT, values));
    }

    /** Enqueues what is timed. */
    void attend() {
        backend.pagedAttention(qkv, AttentionSpec.plain(shape.headSize()), null, batch, cache, LAYER, output);
    }

    /**
     * A first guard against timing something else than attention; whether the numbers are right is the tests' part.
     * @throws IllegalStateException if a result is no number, or a row holds nothing but zeros
     */
    void requireResults() {
        int rows = Math.min(shape.tokens(), CHECKED_ROWS);
        try (var arena = Arena.ofConfined()) {
            var values = arena.allocate((long) rows * output.columns() * RandomBf16.BYTES);
            backend.read(output, rows, values);
            for (int row = 0; row < rows; row++) {
                float largest = 0;
                for (int column = 0; column < output.columns(); column++) {
                    long index = (long) row * output.columns() + column;
                    float value = Float.intBitsToFloat(values.getAtIndex(ValueLayout.JAVA_SHORT, index) << 16);
                    if (!Float.isFinite(value)) {
                        throw new IllegalStateException("%s: output row %d, column %d is %s"
                                .formatted(shape.name(), row, column, value));
                    }
                    largest = Math.max(largest, Math.abs(value));
                }
                if (largest == 0) {
                    throw new IllegalStateException("%s: output row %d is all zeros".formatted(shape.name(), row));
                }
            }
        }
    }
}
