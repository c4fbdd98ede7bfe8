package dev.warmpath.worker.compute.cpu;

import static dev.warmpath.worker.compute.cpu.VectorMath.LANES;
import static dev.warmpath.worker.compute.cpu.VectorMath.SPECIES;

import dev.warmpath.worker.compute.PagedBatch;
import java.util.Arrays;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;

/**
 * Causal attention over the paged cache, in tiles of four query vectors that share a key/value head (the query heads of its
 * group, then those of the next token), so that each key and value is loaded once for four.
 *
 * <p>Three passes over a tile's scores: q · k, with lanes over the positions of a block; softmax; sum of p · v, with lanes
 * over the head. Every sum has one order, by element or by position, whatever the block size, chunk or tile:
 * <ul>
 * <li>a score is a chain over the head's elements in its own lane;
 * <li>the softmax's sum is a chain in lane (position mod lanes), then over the lanes;
 * <li>an output element is a chain over positions. It ends at the token's own position: a stale slot behind it may hold
 *     anything, NaN included, so it is never multiplied by zero.
 * </ul>
 */
final class VectorAttention implements ThreadTeam.Task {

    private static final int TILE_ROWS = 4;
    /** Query vectors of a unit, a multiple of the tile. */
    private static final int UNIT_ROWS = 32;
    /** Multiply-adds below which waking threads costs more than it saves. */
    private static final long MIN_SHARED_WORK = 1L << 19;

    private final ThreadTeam team;
    private final Tile[] tiles;
    private int[] firstUnits = new int[1];
    private float[] queries = new float[0];
    private float[] outputs = new float[0];
    private float[] keys = new float[0];
    private float[] values = new float[0];
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
    private int blockSize;

    VectorAttention(ThreadTeam team) {
        this.team = team;
        this.tiles = new Tile[team.size()];
        Arrays.setAll(tiles, member -> new Tile());
    }

    void attend(CpuTensor qkv, PagedBatch batch, CpuKvCache cache, int layer, CpuTensor output) {
        queries = qkv.floats;
        outputs = output.floats;
        keys = cache.keys[layer];
        values = cache.values[layer];
        queryStarts = Shapes.ints(batch.queryStarts(), batch.sequenceCount() + 1);
        positions = Shapes.ints(batch.positions(), batch.tokenCount());
        blockTables = Shapes.ints(batch.blockTables(), 0);
        tableStride = batch.blockTableStride();
        sequenceCount = batch.sequenceCount();
        queryStride = qkv.columns();
        outputStride = output.columns();
        kvHeads = cache.shape().kvHeadCount();
        headSize = cache.shape().headSize();
        group = output.columns() / headSize / kvHeads;
        blockSize = cache.shape().blockSize();
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
            work += (long) (end - queryStarts[sequence]) * (positions[end - 1] + 1);
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

    /** Four query vectors and their scores; a tile with fewer repeats its last. One per member. */
    private final class Tile {

        private final int[] queryStart = new int[TILE_ROWS];
        private final int[] outputStart = new int[TILE_ROWS];
        private final int[] length = new int[TILE_ROWS];          // positions that a row sees
        private final float[] inverseSums = new float[TILE_ROWS];
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
            computeScores(length[TILE_ROWS - 1]);
            for (int i = 0; i < rowCount; i++) {
                inverseSums[i] = softmax(i * scoreStride, length[i]);
            }
            for (int element = 0; element < headSize; element += 2 * LANES) {
                sumValues(element, rowCount);
            }
        }

        private void place(int i, int firstToken, int row) {
            int token = firstToken + row / group;
            int queryHead = head * group + row % group;
            queryStart[i] = token * queryStride + queryHead * headSize;
            outputStart[i] = token * outputStride + queryHead * headSize;
            length[i] = positions[token] + 1;
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
            return (blockTables[table + position / blockSize] * kvHeads + head) * headSize * blockSize;
        }

        private void computeScores(int positionCount) {
            float scale = (float) (1 / Math.sqrt(headSize));
            for (int position = 0; position < positionCount; position += blockSize) {
                int start = headStart(position);
                for (int offset = 0; offset < blockSize; offset += LANES) {
                    scoreVector(start + offset, position + offset, scale);
                }
            }
        }

        /** Scores of one vector of positions. Lanes past a short block hold leftovers, overwritten by the next block's. */
        private void scoreVector(int keyStart, int position, float scale) {
            var s0 = FloatVector.zero(SPECIES);
            var s1 = s0;
            var s2 = s0;
            var s3 = s0;
            int q0 = queryStart[0];
            int q1 = queryStart[1];
            int q2 = queryStart[2];
            int q3 = queryStart[3];
            float[] q = queries;
            float[] k = keys;
            int step = blockSize;
            int size = headSize;
            for (int i = 0; i < size; i++) {
                var key = FloatVector.fromArray(SPECIES, k, keyStart + i * step);
                s0 = key.fma(FloatVector.broadcast(SPECIES, q[q0 + i]), s0);
                s1 = key.fma(FloatVector.broadcast(SPECIES, q[q1 + i]), s1);
                s2 = key.fma(FloatVector.broadcast(SPECIES, q[q2 + i]), s2);
                s3 = key.fma(FloatVector.broadcast(SPECIES, q[q3 + i]), s3);
            }
            s0.mul(scale).intoArray(scores, position);
            s1.mul(scale).intoArray(scores, scoreStride + position);
            s2.mul(scale).intoArray(scores, 2 * scoreStride + position);
            s3.mul(scale).intoArray(scores, 3 * scoreStride + position);
        }

        /** Turns scores into exp(score − largest) in place. @return 1 / their sum */
        private float softmax(int start, int positionCount) {
            int end = start + positionCount;
            int padded = start + Math.ceilDiv(positionCount, LANES) * LANES;
            Arrays.fill(scores, end, padded, Float.NEGATIVE_INFINITY);
            var largest = FloatVector.broadcast(SPECIES, Float.NEGATIVE_INFINITY);
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
            return 1 / VectorMath.sum(sums, lanes);
        }

        /** Two vectors of the head's elements: together up to the shortest row's end, then each row to its own. */
        private void sumValues(int element, int rowCount) {
            int shared = length[0];
            var a0 = FloatVector.zero(SPECIES);
            var a1 = a0;
            var b0 = a0;
            var b1 = a0;
            var c0 = a0;
            var c1 = a0;
            var d0 = a0;
            var d1 = a0;
            float[] p = scores;
            float[] v = values;
            int p1 = scoreStride;
            int p2 = 2 * scoreStride;
            int p3 = 3 * scoreStride;
            int step = headSize;
            for (int block = 0; block < shared; block += blockSize) {
                int value = headStart(block) + element;
                int end = Math.min(block + blockSize, shared);
                for (int position = block; position < end; position++, value += step) {
                    var v0 = FloatVector.fromArray(SPECIES, v, value);
                    var v1 = FloatVector.fromArray(SPECIES, v, value + LANES);
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
            finishRow(0, a0, a1, shared, element, rowCount);
            finishRow(1, b0, b1, shared, element, rowCount);
            finishRow(2, c0, c1, shared, element, rowCount);
            finishRow(3, d0, d1, shared, element, rowCount);
        }

        private void finishRow(int row, FloatVector low, FloatVector high, int from, int element, int rowCount) {
            if (row >= rowCount) {
                return;
            }
            for (int position = from; position < length[row]; position++) {
                int value = headStart(position) + position % blockSize * headSize + element;
                var p = FloatVector.broadcast(SPECIES, scores[row * scoreStride + position]);
                low = FloatVector.fromArray(SPECIES, values, value).fma(p, low);
                high = FloatVector.fromArray(SPECIES, values, value + LANES).fma(p, high);
            }
            int width = headSize - element;
            int start = outputStart[row] + element;
            low = low.mul(inverseSums[row]);
            high = high.mul(inverseSums[row]);
            if (width >= 2 * LANES) {
                low.intoArray(outputs, start);
                high.intoArray(outputs, start + LANES);
            } else {
                low.intoArray(outputs, start, SPECIES.indexInRange(0, width));
                if (width > LANES) {
                    high.intoArray(outputs, start + LANES, SPECIES.indexInRange(LANES, width));
                }
            }
        }
    }
}
