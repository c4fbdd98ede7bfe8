package dev.warmpath.worker.compute.cpu;

import dev.warmpath.worker.compute.Bf16;
import dev.warmpath.worker.compute.CacheShape;
import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.CopyDirection;
import dev.warmpath.worker.compute.KvCache;

/**
 * The paged cache, two arrays a layer. Keys are transposed inside a block, so that lanes run over positions when scores
 * are computed; values are not, so that lanes run over the head when they are summed:
 * <pre>
 *   float32    keys   [block][kvHead][element][offset]
 *              values [block][kvHead][offset][element]
 *   bfloat16   keys   [block][kvHead][row][offset]     an int holds elements 2 row (low half) and 2 row + 1 (high half)
 *              values [block][kvHead][offset][row]     elements row and row + headSize / 2
 * </pre>
 * A vector of ints is two vectors of floats by a shift and a mask. Keys pair neighbours because a score is summed in
 * the order of the elements; values pair the halves of a head, so that either vector is a piece of the output.
 *
 * <p>All arrays are longer than their blocks by {@link #SLACK} elements: a full-width load may start at the last
 * position of a small block and run over; the lanes beyond are never used. The host tier is more arrays of the same
 * layout, so that blocks travel as they are.
 */
final class CpuKvCache implements KvCache {

    /** Two of the widest vectors there are. */
    static final int SLACK = 32;

    /** [layer], of float32; otherwise of no length. */
    final float[][] keys;
    final float[][] values;
    /** [layer], of bfloat16; otherwise of no length. */
    final int[][] keyPairs;
    final int[][] valuePairs;
    private final CacheShape shape;
    private final boolean paired;
    private final int blockLength;
    private final int blockCount;
    private final Object[] hostKeys;
    private final Object[] hostValues;
    private final int hostBlockCount;

    /** @param type F32 or BF16 */
    CpuKvCache(CacheShape shape, CacheType type, int blockCount, int hostBlockCount) {
        this.shape = shape;
        this.paired = type == CacheType.BF16;
        this.blockLength = blockLength(shape, type);
        this.blockCount = blockCount;
        this.hostBlockCount = hostBlockCount;
        int layers = shape.layerCount();
        int size = Math.addExact(Math.multiplyExact(blockLength, blockCount), SLACK);
        int hostSize = Math.multiplyExact(blockLength, hostBlockCount);
        this.keys = new float[layers][paired ? 0 : size];
        this.values = new float[layers][paired ? 0 : size];
        this.keyPairs = new int[layers][paired ? size : 0];
        this.valuePairs = new int[layers][paired ? size : 0];
        this.hostKeys = paired ? new int[layers][hostSize] : new float[layers][hostSize];
        this.hostValues = paired ? new int[layers][hostSize] : new float[layers][hostSize];
    }

    /** Elements of an array that a block's keys take in one layer; as many its values. */
    static int blockLength(CacheShape shape, CacheType type) {
        return shape.blockElements() / (Float.BYTES / type.bytes());
    }

    /** Whether an element of an array holds two. */
    boolean isPaired() {
        return paired;
    }

    void store(int layer, int slot, float[] source, int keyStart, int valueStart) {
        int blockSize = shape.blockSize();
        int headSize = shape.headSize();
        for (int head = 0; head < shape.kvHeadCount(); head++) {
            int start = headStart(slot / blockSize, head);
            if (paired) {
                storePairs(layer, start, slot % blockSize, source, keyStart + head * headSize,
                        valueStart + head * headSize);
            } else {
                storeFloats(layer, start, slot % blockSize, source, keyStart + head * headSize,
                        valueStart + head * headSize);
            }
        }
    }

    private void storeFloats(int layer, int start, int offset, float[] source, int keyStart, int valueStart) {
        int blockSize = shape.blockSize();
        int headSize = shape.headSize();
        for (int i = 0; i < headSize; i++) {
            keys[layer][start + i * blockSize + offset] = source[keyStart + i];
            values[layer][start + offset * headSize + i] = source[valueStart + i];
        }
    }

    private void storePairs(int layer, int start, int offset, float[] source, int keyStart, int valueStart) {
        int blockSize = shape.blockSize();
        int rows = shape.headSize() / 2;
        for (int row = 0; row < rows; row++) {
            keyPairs[layer][start + row * blockSize + offset] =
                    pair(source[keyStart + 2 * row], source[keyStart + 2 * row + 1]);
            valuePairs[layer][start + offset * rows + row] =
                    pair(source[valueStart + row], source[valueStart + rows + row]);
        }
    }

    private static int pair(float low, float high) {
        return Short.toUnsignedInt(Bf16.of(low)) | Bf16.of(high) << Short.SIZE;
    }

    /** Copies a head's keys in a block, widened. @param target [headSize][blockSize] */
    void readKeys(int layer, int block, int kvHead, float[] target) {
        int start = headStart(block, kvHead);
        int blockSize = shape.blockSize();
        int length = shape.headSize() * blockSize;
        if (!paired) {
            System.arraycopy(keys[layer], start, target, 0, length);
            return;
        }
        for (int i = 0; i < length / 2; i++) {
            int at = i + i / blockSize * blockSize;
            target[at] = low(keyPairs[layer][start + i]);
            target[at + blockSize] = high(keyPairs[layer][start + i]);
        }
    }

    /** Likewise, its values. @param target [blockSize][headSize] */
    void readValues(int layer, int block, int kvHead, float[] target) {
        int start = headStart(block, kvHead);
        int rows = shape.headSize() / 2;
        int length = shape.headSize() * shape.blockSize();
        if (!paired) {
            System.arraycopy(values[layer], start, target, 0, length);
            return;
        }
        for (int i = 0; i < length / 2; i++) {
            int at = i + i / rows * rows;
            target[at] = low(valuePairs[layer][start + i]);
            target[at + rows] = high(valuePairs[layer][start + i]);
        }
    }

    private static float low(int pair) {
        return Bf16.toFloat((short) pair);
    }

    private static float high(int pair) {
        return Bf16.toFloat((short) (pair >> Short.SIZE));
    }

    /** First element of a head's part of a block, in each of a layer's arrays. */
    private int headStart(int block, int kvHead) {
        return (block * shape.kvHeadCount() + kvHead) * (blockLength / shape.kvHeadCount());
    }

    void copyBlock(int source, int target, CopyDirection direction) {
        boolean fromHost = direction == CopyDirection.HOST_TO_DEVICE;
        boolean toHost = direction == CopyDirection.DEVICE_TO_HOST;
        Object[] deviceKeys = paired ? keyPairs : keys;
        Object[] deviceValues = paired ? valuePairs : values;
        copyBlock(fromHost ? hostKeys : deviceKeys, source, toHost ? hostKeys : deviceKeys, target);
        copyBlock(fromHost ? hostValues : deviceValues, source, toHost ? hostValues : deviceValues, target);
    }

    private void copyBlock(Object[] from, int source, Object[] to, int target) {
        for (int layer = 0; layer < shape.layerCount(); layer++) {
            System.arraycopy(from[layer], source * blockLength, to[layer], target * blockLength, blockLength);
        }
    }

    @Override
    public CacheShape shape() {
        return shape;
    }

    @Override
    public int blockCount() {
        return blockCount;
    }

    @Override
    public int hostBlockCount() {
        return hostBlockCount;
    }
}
