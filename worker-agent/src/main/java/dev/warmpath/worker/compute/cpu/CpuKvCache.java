package dev.warmpath.worker.compute.cpu;

import dev.warmpath.worker.compute.CacheShape;
import dev.warmpath.worker.compute.KvCache;

/**
 * The paged cache, two arrays a layer. Keys are transposed inside a block, so that lanes run over positions when scores
 * are computed; values are not, so that lanes run over the head when they are summed:
 * <pre>
 *   keys   [block][kvHead][element][offset]
 *   values [block][kvHead][offset][element]
 * </pre>
 * Both arrays are longer than their blocks by {@link #SLACK} elements: a full-width load may start at the last position
 * of a small block and run over; the lanes beyond are never used.
 */
final class CpuKvCache implements KvCache {

    /** Two of the widest vectors there are. */
    static final int SLACK = 32;

    final float[][] keys;
    final float[][] values;
    private final CacheShape shape;
    private final int blockCount;

    CpuKvCache(CacheShape shape, int blockCount) {
        this.shape = shape;
        this.blockCount = blockCount;
        int size = Math.addExact(Math.multiplyExact(shape.blockElements(), blockCount), SLACK);
        this.keys = new float[shape.layerCount()][size];
        this.values = new float[shape.layerCount()][size];
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

    void copyBlock(int source, int target) {
        int size = shape.blockElements();
        for (int layer = 0; layer < shape.layerCount(); layer++) {
            System.arraycopy(keys[layer], source * size, keys[layer], target * size, size);
            System.arraycopy(values[layer], source * size, values[layer], target * size, size);
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
}
