package dev.warmpath.worker.compute;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.Arrays;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Copies of whole blocks inside the device and to its host tier and back: the seam shows them through attention. */
public abstract class BlockCopyContract {

    private static final int LAYERS = 2;
    private static final int KV_HEADS = 2;
    private static final int BLOCKS = 5;
    private static final int HOST_BLOCKS = 3;

    protected abstract ComputeBackend create();

    private ComputeBackend backend;
    private DeviceData data;

    @BeforeEach
    void open() {
        backend = create();
        data = new DeviceData(backend);
    }

    @AfterEach
    void close() {
        data.close();
    }

    private KvCache cache(int headSize, int blockSize) {
        var shape = new CacheShape(LAYERS, KV_HEADS, data.headSize(headSize), data.blockSize(blockSize));
        return backend.allocateKvCache(shape, BLOCKS, HOST_BLOCKS);
    }

    /** Fills a block with numbers of its own in every layer. */
    private void fill(KvCache cache, int block) {
        int size = cache.shape().blockSize();
        int headSize = cache.shape().headSize();
        int columns = 3 * KV_HEADS * headSize;
        int[] slots = new int[size];
        Arrays.setAll(slots, offset -> block * size + offset);
        float[] unturned = new float[headSize];
        Arrays.fill(unturned, 0, headSize / 2, 1);
        var batch = new PagedBatch(data.ints(new int[size]), data.ints(slots), data.ints(block), data.ints(0, size),
                data.ints(size), size, 1, 1);
        for (int layer = 0; layer < LAYERS; layer++) {
            Tensor qkv = data.activations(size, columns, DeviceData.uniform(size * columns, 10L * block + layer, 2));
            backend.rotateAndStoreKv(qkv, data.floats(1, headSize, unturned), batch, cache, layer);
        }
    }

    /** What one fixed query makes of a block, all layers one after the other: other numbers for any other content. */
    private float[] seen(KvCache cache, int block) {
        int size = cache.shape().blockSize();
        int width = KV_HEADS * cache.shape().headSize();
        var batch = new PagedBatch(data.ints(size - 1), data.ints(-1), data.ints(block), data.ints(0, 1),
                data.ints(size), 1, 1, 1);
        float[] all = new float[LAYERS * width];
        for (int layer = 0; layer < LAYERS; layer++) {
            Tensor output = data.activations(1, width);
            Tensor query = data.activations(1, 3 * width, DeviceData.uniform(3 * width, 7, 2));
            backend.pagedAttention(query, AttentionSpec.plain(width / KV_HEADS), null, batch, cache, layer, output);
            System.arraycopy(data.read(output), 0, all, layer * width, width);
        }
        return all;
    }

    private void copy(KvCache cache, CopyDirection direction, int... pairs) {
        var mapping = new BlockMapping(pairs.length / 2);
        for (int i = 0; i < pairs.length; i += 2) {
            mapping.add(pairs[i], pairs[i + 1]);
        }
        backend.copyBlocks(cache, mapping, direction);
    }

    @ParameterizedTest
    @CsvSource({"2, 1", "10, 7", "32, 16", "6, 33", "64, 4098"})
    void blocks_come_back_from_the_host_tier_bit_for_bit_wherever_they_are_put(int headSize, int blockSize) {
        var cache = cache(headSize, blockSize);
        fill(cache, 1);
        fill(cache, 3);
        float[] one = seen(cache, 1);
        float[] three = seen(cache, 3);
        copy(cache, CopyDirection.DEVICE_TO_HOST, 1, 2, 3, 0);
        copy(cache, CopyDirection.DEVICE_TO_DEVICE, 0, 1, 0, 3);
        assertThat(seen(cache, 1)).containsOnly(0f);

        copy(cache, CopyDirection.HOST_TO_DEVICE, 2, 4, 0, 1);
        assertThat(seen(cache, 4)).containsExactly(one);
        assertThat(seen(cache, 1)).containsExactly(three);
        assertThat(seen(cache, 2)).containsOnly(0f);
        copy(cache, CopyDirection.HOST_TO_DEVICE, 2, 2, 2, 3);
        assertThat(seen(cache, 2)).as("the host's copy stays").containsExactly(one);
        assertThat(seen(cache, 3)).containsExactly(one);
    }

    @ParameterizedTest
    @CsvSource({"2, 1", "10, 7", "32, 16", "6, 33"})
    void pairs_take_effect_in_their_order_in_every_direction(int headSize, int blockSize) {
        var cache = cache(headSize, blockSize);
        fill(cache, 1);
        fill(cache, 2);
        float[] one = seen(cache, 1);
        float[] two = seen(cache, 2);
        copy(cache, CopyDirection.DEVICE_TO_DEVICE, 1, 3, 2, 1, 1, 4, 4, 4);
        assertThat(seen(cache, 3)).containsExactly(one);
        assertThat(seen(cache, 1)).containsExactly(two);
        assertThat(seen(cache, 4)).containsExactly(two);
        copy(cache, CopyDirection.DEVICE_TO_HOST, 0, 0, 3, 1, 1, 1);
        copy(cache, CopyDirection.HOST_TO_DEVICE, 1, 3, 0, 3, 1, 2);
        assertThat(seen(cache, 3)).containsOnly(0f);
        assertThat(seen(cache, 2)).containsExactly(two);
    }

    @Test
    void a_block_that_is_not_there_is_refused_before_anything_is_copied() {
        var cache = cache(4, 2);
        fill(cache, 1);
        refused(cache, CopyDirection.DEVICE_TO_DEVICE, 5, 1, "copy DEVICE_TO_DEVICE: source block 5, takes 0 to 4");
        refused(cache, CopyDirection.DEVICE_TO_DEVICE, 1, -1, "copy DEVICE_TO_DEVICE: target block -1, takes 0 to 4");
        refused(cache, CopyDirection.DEVICE_TO_HOST, 4, 3, "copy DEVICE_TO_HOST: target block 3, takes 0 to 2");
        refused(cache, CopyDirection.HOST_TO_DEVICE, 3, 1, "copy HOST_TO_DEVICE: source block 3, takes 0 to 2");
        refused(cache, CopyDirection.HOST_TO_DEVICE, 2, 5, "copy HOST_TO_DEVICE: target block 5, takes 0 to 4");
        assertThat(seen(cache, 2)).containsOnly(0f);
    }

    private void refused(KvCache cache, CopyDirection direction, int source, int target, String message) {
        // the pair before it is right, and would be seen if it were copied within the device
        int first = direction == CopyDirection.HOST_TO_DEVICE ? 0 : 1;
        assertThatIllegalArgumentException().isThrownBy(() -> copy(cache, direction, first, 2, source, target))
                .withMessage(message);
    }

    @Test
    void a_cache_knows_its_sizes_and_without_a_host_tier_copies_nothing_there() {
        var cache = cache(4, 2);
        assertThat(cache.blockCount()).isEqualTo(5);
        assertThat(cache.hostBlockCount()).isEqualTo(3);
        var small = backend.allocateKvCache(new CacheShape(1, 1, data.headSize(2), data.blockSize(4)), 3, 0);
        assertThatExceptionOfType(ComputeException.class)
                .isThrownBy(() -> backend.copyBlocks(small, new BlockMapping(1), CopyDirection.DEVICE_TO_HOST));
        assertThatExceptionOfType(ComputeException.class)
                .isThrownBy(() -> copy(small, CopyDirection.HOST_TO_DEVICE, 0, 1));
    }
}
