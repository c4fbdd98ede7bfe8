package dev.warmpath.worker.compute.cpu;

import dev.warmpath.worker.compute.CacheShape;
import dev.warmpath.worker.compute.CopyDirection;
import dev.warmpath.worker.compute.KvCache;

/**
 * The paged cache, two arrays a layer. Keys are transposed inside a block, so that lanes run over positions when scores
 * are computed; values are not, so that lanes run over the head when they are summed:
 * <pre>
 *   keys   [block][kvHead][element][offset]
 *   values [block][kvHead][offset][element]
 * </pre>
 * Both arrays are longer than their blocks by {@link #SLACK} elements: a full-width load may start at the last position
 * of a small block and run over; the lanes beyond are never used. The host tier is more arrays of the same layout, so
 * that blocks travel as they are.
 */
final class CpuKvCache implements KvCache {

    /** Two of the widest vectors there are. */
    static final int SLACK = 32;

    final float[][] keys;
    final float[][] values;
    private final CacheShape shape;
    private final int blockCount;
    private final float[][] hostKeys;
    private final float[][] hostValues;
    private final int hostBlockCount;

    CpuKvCache(CacheShape shape, int blockCount, int hostBlockCount) {
        this.shape = shape;
        this.blockCount = blockCount;
        int size = Math.addExact(Math.multiplyExact(shape.blockElements(), blockCount), SLACK);
        this.keys = new float[shape.layerCount()][size];
        this.values = new float[shape.layerCount()][size];
        this.hostBlockCount = hostBlockCount;
        int hostSize = Math.multiplyExact(shape.blockElements(), hostBlockCount);
        this.hostKeys = new float[shape.layerCount()][hostSize];
        this.hostValues = new float[shape.layerCount()][hostSize];
    }

    void store(int layer, int slot, float[] source, int keyStart, int valueStart) {
        int blockSize = shape.blockSize();
        int headSize = shape.headSize();
        int offset = slot % blockSize;
        for (int head = 0; head < shape.kvHeadCount(); head++) {
            int start = headStart(slot / blockSize, head);
            for (int i = 0; i < headSize; i++) {
                keys[layer][start + i * blockSize + offset] = source[keyStart + head * headSize + i];
                values[layer][start + offset * headSize + i] = source[valueStart + head * headSize + i];
            }
        }
    }

    /** First element of a head's part of a block, in {@code keys} and in {@code values}. */
    int headStart(int block, int kvHead) {
        return (block * shape.kvHeadCount() + kvHead) * shape.headSize() * shape.blockSize();
    }

    void copyBlock(int source, int target, CopyDirection direction) {
        boolean fromHost = direction == CopyDirection.HOST_TO_DEVICE;
        boolean toHost = direction == CopyDirection.DEVICE_TO_HOST;
        copyBlock(fromHost ? hostKeys : keys, source, toHost ? hostKeys : keys, target);
        copyBlock(fromHost ? hostValues : values, source, toHost ? hostValues : values, target);
    }

    private void copyBlock(float[][] from, int source, float[][] to, int target) {
        int size = shape.blockElements();
        for (int layer = 0; layer < shape.layerCount(); layer++) {
            System.arraycopy(from[layer], source * size, to[layer], target * size, size);
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
