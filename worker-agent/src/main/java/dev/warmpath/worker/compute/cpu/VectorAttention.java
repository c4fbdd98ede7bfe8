package dev.warmpath.worker.compute.cpu;

import static dev.warmpath.worker.compute.cpu.VectorMath.INTS;
import static dev.warmpath.worker.compute.cpu.VectorMath.LANES;
import static dev.warmpath.worker.compute.cpu.VectorMath.SPECIES;

import dev.warmpath.worker.compute.AttentionSpec;
import dev.warmpath.worker.compute.PagedBatch;
import java.util.Arrays;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;
import org.jspecify.annotations.Nullable;

/**
 * Causal attention over the paged cache, in tiles of four query vectors that share a key/value head (the query heads of
 * its group, then those of the next token), so that each key and value is loaded once for four.
 *
 * <p>Three passes over a tile's scores: q · k, with lanes over the positions of a block; softmax; sum of p · v, with
 * lanes over the head. Every sum has one order, by element or by position, whatever the block size, chunk or tile:
 * <ul>
 * <li>a score is a chain over the head's elements in its own lane;
 * <li>the softmax's sum is a chain in lane (position mod lanes), then over the lanes;
 * <li>an output element is a chain over positions, from the first that the token sees to its own: a slot outside may
 *     hold anything, NaN included, so it is never multiplied by zero.
 * </ul>
 */
final class VectorAttention implements ThreadTeam.Task {

    private static final int NONE = -1;
    private static final int TILE_ROWS = 4;
    /** Query vectors of a unit, a multiple of the tile. */
    private static final int UNIT_ROWS = 32;
    /** Multiply-adds below which waking threads costs more than it saves. */
    private static final long MIN_SHARED_WORK = 1L << 20;

    private final ThreadTeam team;
    private final Tile[] tiles;
    private int[] firstUnits = new int[1];
    private float[] queries = new float[0];
    private float[] outputs = new float[0];
    private float[] keys = new float[0];
    private float[] values = new float[0];
    private int[] keyPairs = new int[0];
    private int[] valuePairs = new int[0];
    private boolean paired;
    private int[] queryStarts = new int[0];
    private int[] positions = new int[0];
    private int[] blockTables = new int[0];
    private int tableStride;
    private int sequenceCount;
    private int queryStride;
    private int outputStride;
    private int kvHeads;
    private int group;
    private int headSize;
    /** Array elements of a position's keys, or values, of a head. */
    private int rowLength;
    /** Elements from one vector of values to the other that is summed with it. */
    private int valueDistance;
    private int blockSize;
    private AttentionSpec spec = AttentionSpec.plain(1);
    private float scale;
    private float @Nullable [] sinks;

    VectorAttention(ThreadTeam team) {
        this.team = team;
        this.tiles = new Tile[team.size()];
        Arrays.setAll(tiles, member -> new Tile());
    }

    /** @param sinks of each query head, null if there are none */
    void attend(CpuTensor qkv, AttentionSpec spec, float @Nullable [] sinks, PagedBatch batch, CpuKvCache cache,
                int layer, CpuTensor output) {
        this.spec = spec;
        this.sinks = sinks;
        queries = qkv.floats;
        outputs = output.floats;
        keys = cache.keys[layer];
        values = cache.values[layer];
        keyPairs = cache.keyPairs[layer];
        valuePairs = cache.valuePairs[layer];
        paired = cache.isPaired();
        queryStarts = Handles.ints(batch.queryStarts(), batch.sequenceCount() + 1);
        positions = Handles.ints(batch.positions(), batch.tokenCount());
        blockTables = Handles.ints(batch.blockTables(), 0);
        tableStride = batch.blockTableStride();
        sequenceCount = batch.sequenceCount();
        queryStride = qkv.columns();
        outputStride = output.columns();
        kvHeads = cache.shape().kvHeadCount();
        headSize = cache.shape().headSize();
        group = output.columns() / headSize / kvHeads;
        rowLength = paired ? headSize / 2 : headSize;
        valueDistance = paired ? headSize / 2 : LANES;
        blockSize = cache.shape().blockSize();
        scale = (float) spec.scale();
        int units = countUnits();
        team.run(this, units, work() < MIN_SHARED_WORK);
    }

    private int countUnits() {
        if (firstUnits.length <= sequenceCount) {
            firstUnits = new int[2 * sequenceCount + 1];
        }
        int units = 0;
        for (int sequence = 0; sequence < sequenceCount; sequence++) {
            firstUnits[sequence] = units;
            int rows = (queryStarts[sequence + 1] - queryStarts[sequence]) * group;
            units += Math.ceilDiv(rows, UNIT_ROWS) * kvHeads;
        }
        firstUnits[sequenceCount] = units;
        return units;
    }

    private long work() {
        long work = 0;
        for (int sequence = 0; sequence < sequenceCount; sequence++) {
            int end = queryStarts[sequence + 1];
            int last = positions[end - 1];
            work += (long) (end - queryStarts[sequence]) * (last + 1 - spec.firstSeen(last));
        }
        return work * group * kvHeads * headSize * 2;
    }

    @Override
    public void run(int unit, int member) {
        int sequence = 0;
        while (firstUnits[sequence + 1] <= unit) {
            sequence++;
        }
        int inSequence = unit - firstUnits[sequence];
        int kvHead = inSequence % kvHeads;
        int rows = (queryStarts[sequence + 1] - queryStarts[sequence]) * group;
        int firstRow = inSequence / kvHeads * UNIT_ROWS;
        int end = Math.min(firstRow + UNIT_ROWS, rows);
        for (int row = firstRow; row < end; row += TILE_ROWS) {
            tiles[member].attend(sequence, kvHead, row, Math.min(TILE_ROWS, end - row));
        }
    }

    /**
     * The first of two vectors that are used together: as bfloat16 they lie in the halves of the same ints. The type
     * does not change within a loop, so the compiler asks for it before.
     */
    private static FloatVector first(float[] floats, int[] pairs, int at, boolean paired) {
        return paired ? VectorMath.low(IntVector.fromArray(INTS, pairs, at))
                : FloatVector.fromArray(SPECIES, floats, at);
    }

    /** The second. @param distance from the first, as float32 */
    private static FloatVector second(float[] floats, int[] pairs, int at, int distance, boolean paired) {
        return paired ? VectorMath.high(IntVector.fromArray(INTS, pairs, at))
                : FloatVector.fromArray(SPECIES, floats, at + distance);
    }

    /** Four query vectors and their scores; a tile with fewer repeats its last. One per member. */
    private final class Tile {

        private final int[] queryStart = new int[TILE_ROWS];
        private final int[] outputStart = new int[TILE_ROWS];
        private final int[] first = new int[TILE_ROWS];           // positions that a row sees: from here
        private final int[] length = new int[TILE_ROWS];          // up to here, exclusive
        private final float[] inverseSums = new float[TILE_ROWS];
        private final float[] sums = new float[2 * TILE_ROWS * LANES];
        private final float[] lanes = new float[LANES];
        private float[] scores = new float[0];
        private int scoreStride;
        private int table;
        private int head;

        void attend(int sequence, int kvHead, int firstRow, int rowCount) {
            table = sequence * tableStride;
            head = kvHead;
            for (int i = 0; i < TILE_ROWS; i++) {
                place(i, queryStarts[sequence], firstRow + Math.min(i, rowCount - 1));
            }
            reserve(length[TILE_ROWS - 1]);
            computeScores(first[0], length[TILE_ROWS - 1]);
            for (int i = 0; i < rowCount; i++) {
                inverseSums[i] = softmax(i, sinks == null ? Float.NEGATIVE_INFINITY : sinks[queryHead(firstRow + i)]);
            }
            int step = paired ? LANES : 2 * LANES;
            for (int element = 0; element < rowLength; element += step) {
                sumValues(element, rowCount);
            }
        }

        private void place(int i, int firstToken, int row) {
            int token = firstToken + row / group;
            queryStart[i] = token * queryStride + queryHead(row) * headSize;
            outputStart[i] = token * outputStride + queryHead(row) * headSize;
            first[i] = spec.firstSeen(positions[token]);
            length[i] = positions[token] + 1;
        }

        private int queryHead(int row) {
            return head * group + row % group;
        }

        private void reserve(int positionCount) {
            // a block's last store may run over by a vector, whatever the block size
            int needed = Math.ceilDiv(positionCount, blockSize) * blockSize + LANES;
            if (scoreStride < needed) {
                scoreStride = Math.max(needed, 2 * scoreStride);
                scores = new float[TILE_ROWS * scoreStride];
            }
        }

        private int headStart(int position) {
            return (blockTables[table + position / blockSize] * kvHeads + head) * rowLength * blockSize;
        }

        /** Scores of all positions, two vectors of positions at a time: eight chains hide the latency of one. */
        private void computeScores(int firstPosition, int positionCount) {
            int waiting = NONE;
            int waitingStart = NONE;
            for (int block = firstPosition - firstPosition % blockSize; block < positionCount; block += blockSize) {
                int start = headStart(block);
                for (int offset = 0; offset < blockSize; offset += LANES) {
                    if (waiting == NONE) {
                        waiting = block + offset;
                        waitingStart = start + offset;
                    } else {
                        scoreVectors(waitingStart, waiting, start + offset, block + offset);
                        waiting = NONE;
                    }
                }
            }
            if (waiting != NONE) {
                scoreVectors(waitingStart, waiting, waitingStart, waiting);
            }
        }

        /**
         * Lanes past a short block hold leftovers, which the next block's scores overwrite: the first vector goes
         * first.
         * <p>Each type has its own loop: one over two elements for both took longer for a prompt in float32. They are
         * in one method since they share eight sums: a vector that goes to a method which is not taken in becomes an
         * object (docs/decisions/0016).
         */
        private void scoreVectors(int keyStart, int position, int nextKeyStart, int nextPosition) {
            var a0 = FloatVector.zero(SPECIES);
            var a1 = a0;
            var b0 = a0;
            var b1 = a0;
            var c0 = a0;
            var c1 = a0;
            var d0 = a0;
            var d1 = a0;
            float[] q = queries;
            int qa = queryStart[0];
            int qb = queryStart[1];
            int qc = queryStart[2];
            int qd = queryStart[3];
            int step = blockSize;
            int size = headSize;
            if (paired) {
                int[] pairs = keyPairs;
                for (int i = 0; i < size; i += 2, keyStart += step, nextKeyStart += step) {
                    var pair0 = IntVector.fromArray(INTS, pairs, keyStart);
                    var pair1 = IntVector.fromArray(INTS, pairs, nextKeyStart);
                    var k0 = VectorMath.low(pair0);
                    var k1 = VectorMath.low(pair1);
                    var a = FloatVector.broadcast(SPECIES, q[qa + i]);
                    a0 = k0.fma(a, a0);
                    a1 = k1.fma(a, a1);
                    var b = FloatVector.broadcast(SPECIES, q[qb + i]);
                    b0 = k0.fma(b, b0);
                    b1 = k1.fma(b, b1);
                    var c = FloatVector.broadcast(SPECIES, q[qc + i]);
                    c0 = k0.fma(c, c0);
                    c1 = k1.fma(c, c1);
                    var d = FloatVector.broadcast(SPECIES, q[qd + i]);
                    d0 = k0.fma(d, d0);
                    d1 = k1.fma(d, d1);
                    k0 = VectorMath.high(pair0);
                    k1 = VectorMath.high(pair1);
                    a = FloatVector.broadcast(SPECIES, q[qa + i + 1]);
                    a0 = k0.fma(a, a0);
                    a1 = k1.fma(a, a1);
                    b = FloatVector.broadcast(SPECIES, q[qb + i + 1]);
                    b0 = k0.fma(b, b0);
                    b1 = k1.fma(b, b1);
                    c = FloatVector.broadcast(SPECIES, q[qc + i + 1]);
                    c0 = k0.fma(c, c0);
                    c1 = k1.fma(c, c1);
                    d = FloatVector.broadcast(SPECIES, q[qd + i + 1]);
                    d0 = k0.fma(d, d0);
                    d1 = k1.fma(d, d1);
                }
            } else {
                float[] k = keys;
                for (int i = 0; i < size; i++, keyStart += step, nextKeyStart += step) {
                    var k0 = FloatVector.fromArray(SPECIES, k, keyStart);
                    var k1 = FloatVector.fromArray(SPECIES, k, nextKeyStart);
                    var a = FloatVector.broadcast(SPECIES, q[qa + i]);
                    a0 = k0.fma(a, a0);
                    a1 = k1.fma(a, a1);
                    var b = FloatVector.broadcast(SPECIES, q[qb + i]);
                    b0 = k0.fma(b, b0);
                    b1 = k1.fma(b, b1);
                    var c = FloatVector.broadcast(SPECIES, q[qc + i]);
                    c0 = k0.fma(c, c0);
                    c1 = k1.fma(c, c1);
                    var d = FloatVector.broadcast(SPECIES, q[qd + i]);
                    d0 = k0.fma(d, d0);
                    d1 = k1.fma(d, d1);
                }
            }
            float[] s = scores;
            int stride = scoreStride;
            a0.mul(scale).intoArray(s, position);
            b0.mul(scale).intoArray(s, stride + position);
            c0.mul(scale).intoArray(s, 2 * stride + position);
            d0.mul(scale).intoArray(s, 3 * stride + position);
            a1.mul(scale).intoArray(s, nextPosition);
            b1.mul(scale).intoArray(s, stride + nextPosition);
            c1.mul(scale).intoArray(s, 2 * stride + nextPosition);
            d1.mul(scale).intoArray(s, 3 * stride + nextPosition);
        }

        /** Turns a row's scores into exp(score − largest) in place. @return 1 / their sum, the sink's included */
        private float softmax(int row, float sink) {
            int rowStart = row * scoreStride;
            int start = rowStart + first[row] - first[row] % LANES;
            int end = rowStart + length[row];
            int padded = rowStart + Math.ceilDiv(length[row], LANES) * LANES;
            Arrays.fill(scores, start, rowStart + first[row], Float.NEGATIVE_INFINITY);
            Arrays.fill(scores, end, padded, Float.NEGATIVE_INFINITY);
            if (spec.softCap() != AttentionSpec.NO_CAP) {
                cap(start, padded);
            }
            var largest = FloatVector.broadcast(SPECIES, sink);
            for (int i = start; i < padded; i += LANES) {
                largest = largest.max(FloatVector.fromArray(SPECIES, scores, i));
            }
            float max = largest.reduceLanes(VectorOperators.MAX);
            var sums = FloatVector.zero(SPECIES);
            for (int i = start; i < padded; i += LANES) {
                var weight = VectorMath.exp(FloatVector.fromArray(SPECIES, scores, i).sub(max));
                weight.intoArray(scores, i);
                sums = sums.add(weight);
            }
            return 1 / (VectorMath.sum(sums, lanes) + (float) Math.exp(sink - max));
        }

        /** What is masked by minus infinity stays so. */
        private void cap(int start, int end) {
            float most = (float) spec.softCap();
            for (int i = start; i < end; i += LANES) {
                var score = FloatVector.fromArray(SPECIES, scores, i);
                VectorMath.tanh(score.div(most)).mul(most)
                        .blend(score, score.eq(Float.NEGATIVE_INFINITY)).intoArray(scores, i);
            }
        }

        /**
         * Two vectors of the head's elements, from {@code element} on and at a distance behind it: each row by itself
         * up to where all rows see, then together up to the shortest row's end, then each row to its own.
         */
        private void sumValues(int element, int rowCount) {
            int together = Math.min(first[TILE_ROWS - 1], length[0]);
            int shared = length[0];
            float[] sum = sums;
            Arrays.fill(sum, 0);
            for (int row = 0; row < rowCount; row++) {
                sumRow(row, first[row], together, element);
            }
            var a0 = FloatVector.fromArray(SPECIES, sum, 0);
            var a1 = FloatVector.fromArray(SPECIES, sum, LANES);
            var b0 = FloatVector.fromArray(SPECIES, sum, 2 * LANES);
            var b1 = FloatVector.fromArray(SPECIES, sum, 3 * LANES);
            var c0 = FloatVector.fromArray(SPECIES, sum, 4 * LANES);
            var c1 = FloatVector.fromArray(SPECIES, sum, 5 * LANES);
            var d0 = FloatVector.fromArray(SPECIES, sum, 6 * LANES);
            var d1 = FloatVector.fromArray(SPECIES, sum, 7 * LANES);
            float[] p = scores;
            float[] v = values;
            int[] vp = valuePairs;
            boolean pairs = paired;
            int distance = valueDistance;
            int p1 = scoreStride;
            int p2 = 2 * scoreStride;
            int p3 = 3 * scoreStride;
            int step = rowLength;
            int start = together;
            for (int block = start - start % blockSize; start < shared; block += blockSize, start = block) {
                int value = headStart(block) + (start - block) * step + element;
                int end = Math.min(block + blockSize, shared);
                for (int position = start; position < end; position++, value += step) {
                    var v0 = first(v, vp, value, pairs);
                    var v1 = second(v, vp, value, distance, pairs);
                    var a = FloatVector.broadcast(SPECIES, p[position]);
                    a0 = v0.fma(a, a0);
                    a1 = v1.fma(a, a1);
                    var b = FloatVector.broadcast(SPECIES, p[p1 + position]);
                    b0 = v0.fma(b, b0);
                    b1 = v1.fma(b, b1);
                    var c = FloatVector.broadcast(SPECIES, p[p2 + position]);
                    c0 = v0.fma(c, c0);
                    c1 = v1.fma(c, c1);
                    var d = FloatVector.broadcast(SPECIES, p[p3 + position]);
                    d0 = v0.fma(d, d0);
                    d1 = v1.fma(d, d1);
                }
            }
            a0.intoArray(sum, 0);
            a1.intoArray(sum, LANES);
            b0.intoArray(sum, 2 * LANES);
            b1.intoArray(sum, 3 * LANES);
            c0.intoArray(sum, 4 * LANES);
            c1.intoArray(sum, 5 * LANES);
            d0.intoArray(sum, 6 * LANES);
            d1.intoArray(sum, 7 * LANES);
            for (int row = 0; row < rowCount; row++) {
                sumRow(row, Math.max(first[row], shared), length[row], element);
                int at = 2 * row * LANES;
                FloatVector.fromArray(SPECIES, sum, at).mul(inverseSums[row]).intoArray(sum, at);
                FloatVector.fromArray(SPECIES, sum, at + LANES).mul(inverseSums[row]).intoArray(sum, at + LANES);
                int output = outputStart[row] + element;
                if (pairs) {
                    int count = Math.min(LANES, rowLength - element);
                    System.arraycopy(sum, at, outputs, output, count);
                    System.arraycopy(sum, at + LANES, outputs, output + distance, count);
                } else {
                    System.arraycopy(sum, at, outputs, output, Math.min(2 * LANES, headSize - element));
                }
            }
        }

        /** The chain goes on through memory: a float32 stored and loaded is the same float32. */
        private void sumRow(int row, int from, int to, int element) {
            if (from >= to) {
                return;
            }
            var low = FloatVector.fromArray(SPECIES, sums, 2 * row * LANES);
            var high = FloatVector.fromArray(SPECIES, sums, (2 * row + 1) * LANES);
            for (int position = from; position < to; position++) {
                int value = headStart(position) + position % blockSize * rowLength + element;
                var p = FloatVector.broadcast(SPECIES, scores[row * scoreStride + position]);
                low = first(values, valuePairs, value, paired).fma(p, low);
                high = second(values, valuePairs, value, valueDistance, paired).fma(p, high);
            }
            low.intoArray(sums, 2 * row * LANES);
            high.intoArray(sums, (2 * row + 1) * LANES);
        }
    }
}
