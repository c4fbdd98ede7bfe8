package dev.warmpath.worker.compute.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.warmpath.worker.compute.AttentionSpec;
import dev.warmpath.worker.compute.BlockMapping;
import dev.warmpath.worker.compute.CacheShape;
import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.ComputeException;
import dev.warmpath.worker.compute.CopyDirection;
import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.KvCache;
import dev.warmpath.worker.compute.Tensor;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Caches, block copies and swap on the emulated device; what is left when memory runs out or everything is closed. */
@OnEmulatedDevice
class CudaMemoryTest {

    private static final int OUT_OF_MEMORY = 2;

    private BackendRig rig;
    private FakeCuda fake;
    private CudaBackend backend;

    @BeforeEach
    void open() {
        open(CacheType.BF16);
    }

    private void open(CacheType type) {
        rig = new BackendRig(type);
        fake = rig.fake;
        backend = rig.backend;
    }

    private void reopen(CacheType type) {
        rig.close();
        open(type);
    }

    @AfterEach
    void close() {
        rig.close();
    }

    private void copy(KvCache cache, CopyDirection direction, int... pairs) {
        var mapping = new BlockMapping(pairs.length / 2);
        for (int i = 0; i < pairs.length; i += 2) {
            mapping.add(pairs[i], pairs[i + 1]);
        }
        backend.copyBlocks(cache, mapping, direction);
    }

    @Test
    void blocks_leave_and_return_while_later_steps_write_over_them_and_the_host_never_waits() {
        var cache = rig.cache(4, 2);
        rig.fill(cache, 1, 3);
        rig.fill(cache, 2, 4);
        rig.seen(cache, 1);
        int waits = fake.calls("cuStreamSynchronize");
        copy(cache, CopyDirection.DEVICE_TO_HOST, 1, 1, 2, 0);
        rig.fill(cache, 1, 8);
        copy(cache, CopyDirection.HOST_TO_DEVICE, 1, 2, 0, 3);
        rig.fill(cache, 2, 9);
        assertThat(fake.calls("cuStreamSynchronize")).isEqualTo(waits);
        assertThat(rig.seen(cache, 1)).isEqualTo(8);
        assertThat(rig.seen(cache, 2)).isEqualTo(9);
        assertThat(rig.seen(cache, 3)).isEqualTo(4);
        copy(cache, CopyDirection.HOST_TO_DEVICE, 1, 3);
        assertThat(rig.seen(cache, 3)).isEqualTo(3);
    }

    @Test
    void more_blocks_than_the_regions_hold_cross_one_after_the_other() {
        var cache = rig.cache(8, 2);                                           // a region holds 2 blocks
        for (int block = 1; block < 8; block++) {
            rig.fill(cache, block, block);
        }
        copy(cache, CopyDirection.DEVICE_TO_HOST, 1, 0, 2, 1, 3, 0, 4, 1, 5, 0, 6, 1, 7, 0);
        copy(cache, CopyDirection.HOST_TO_DEVICE, 0, 1, 1, 2, 0, 3, 1, 4, 0, 1, 1, 1);
        assertThat(List.of(rig.seen(cache, 1), rig.seen(cache, 2), rig.seen(cache, 3), rig.seen(cache, 4),
                rig.seen(cache, 5))).containsExactly(6f, 6f, 7f, 6f, 5f);
    }

    /** The two streams are in step by events alone: here the swap stream runs first, elsewhere it runs late. */
    @Test
    void regions_are_filled_before_they_are_emptied_and_emptied_before_they_are_filled_again_whoever_is_faster() {
        var cache = rig.cache(5, 4);
        SwapStream swap = ((CudaKvCache) cache).swap();
        for (int block = 1; block < 5; block++) {
            rig.fill(cache, block, block);
        }
        for (int block = 1; block < 5; block++) {
            copy(cache, CopyDirection.DEVICE_TO_HOST, block, block - 1);       // each call takes the other region
        }
        rig.seen(cache, 1);                                                    // the steps' stream is done, swap is not
        swap.synchronize();
        copy(cache, CopyDirection.DEVICE_TO_DEVICE, 0, 1, 0, 2, 0, 3, 0, 4);
        for (int block = 1; block < 5; block++) {
            copy(cache, CopyDirection.HOST_TO_DEVICE, block - 1, block);
        }
        swap.synchronize();                                                    // the swap stream is done, steps are not
        copy(cache, CopyDirection.DEVICE_TO_HOST, 1, 3);
        swap.synchronize();
        assertThat(List.of(rig.seen(cache, 1), rig.seen(cache, 2), rig.seen(cache, 3), rig.seen(cache, 4)))
                .containsExactly(1f, 2f, 3f, 4f);
        copy(cache, CopyDirection.HOST_TO_DEVICE, 3, 4);
        assertThat(rig.seen(cache, 4)).isEqualTo(1);
    }

    @Test
    void neighbours_in_the_host_tier_cross_as_one_copy() {
        var cache = rig.cache(6, 4);
        int copies = fake.calls("cuMemcpyDtoHAsync_v2");
        copy(cache, CopyDirection.DEVICE_TO_HOST, 5, 0, 1, 1, 3, 2, 2, 3);
        assertThat(fake.calls("cuMemcpyDtoHAsync_v2")).isEqualTo(copies + 1);
        copy(cache, CopyDirection.DEVICE_TO_HOST, 5, 0, 1, 2);
        assertThat(fake.calls("cuMemcpyDtoHAsync_v2")).isEqualTo(copies + 3);
    }

    /** Against numbers in an array; block 0 is the null block, and stays zero. */
    @ParameterizedTest
    @EnumSource(names = {"BF16", "FP8_E4M3"})
    void random_copies_in_all_directions_take_effect_pair_after_pair(CacheType type) {
        reopen(type);
        var cache = rig.cache(10, 5);
        float[] device = new float[10];
        float[] host = new float[5];
        for (int block = 1; block < 10; block++) {
            device[block] = block;
            rig.fill(cache, block, block);
        }
        var random = new SplittableRandom(11);
        for (int round = 0; round < 40; round++) {
            CopyDirection direction = CopyDirection.values()[random.nextInt(3)];
            float[] from = direction == CopyDirection.HOST_TO_DEVICE ? host : device;
            float[] to = direction == CopyDirection.DEVICE_TO_HOST ? host : device;
            var mapping = new BlockMapping(12);
            for (int pair = random.nextInt(1, 12); pair > 0; pair--) {
                int source = random.nextInt(from.length);
                int target = random.nextInt(to == device ? 1 : 0, to.length);
                mapping.add(source, target);
                to[target] = from[source];
            }
            backend.copyBlocks(cache, mapping, direction);
        }
        for (int block = 0; block < 10; block++) {
            assertThat(rig.seen(cache, block)).as("block %d", block).isEqualTo(device[block]);
        }
    }

    @Test
    void pairs_without_a_common_block_are_one_launch_and_others_are_cut() {
        var cache = rig.cache(10, 2);
        copy(cache, CopyDirection.DEVICE_TO_HOST, 1, 0, 1, 1);
        rig.seen(cache, 1);
        int launches = fake.kernelCalls("wp_copy_blocks");
        copy(cache, CopyDirection.DEVICE_TO_DEVICE, 1, 2, 1, 3, 4, 5, 6, 6);
        rig.seen(cache, 1);
        assertThat(fake.kernelCalls("wp_copy_blocks")).isEqualTo(launches + 1);
        copy(cache, CopyDirection.DEVICE_TO_DEVICE, 1, 2, 2, 3, 4, 2, 7, 4);
        rig.seen(cache, 1);
        assertThat(fake.kernelCalls("wp_copy_blocks")).as("each of these pairs touches what the one before writes, or "
                + "writes what it reads").isEqualTo(launches + 1 + 4);
        copy(cache, CopyDirection.HOST_TO_DEVICE, 0, 1, 1, 1);
        rig.seen(cache, 1);
        assertThat(fake.kernelCalls("wp_copy_blocks")).as("block 1 is written twice").isEqualTo(launches + 1 + 4 + 2);
    }

    // ---- sizes

    @Test
    void a_cache_takes_2_bytes_an_element_or_in_fp8_1_and_4_for_each_row_and_what_is_free_shrinks_by_it() {
        var shape = new CacheShape(2, 1, 32, 16);
        assertThat(backend.bytesPerBlock(shape)).isEqualTo(4096);
        assertThat(backend.cacheType()).isEqualTo(CacheType.BF16);
        assertThat(backend.kernelBlockSize()).isEqualTo(16);
        long free = backend.freeMemory().orElseThrow();
        backend.allocateKvCache(shape, 1000, 0);
        assertThat(free - backend.freeMemory().orElseThrow()).isBetween(4_096_000L, 6_000_000L);
        reopen(CacheType.FP8_E4M3);
        assertThat(backend.bytesPerBlock(shape)).as("elements and scales").isEqualTo(2048 + 256);
        long freeOfScaled = backend.freeMemory().orElseThrow();
        backend.allocateKvCache(shape, 1000, 0);
        assertThat(freeOfScaled - backend.freeMemory().orElseThrow()).isBetween(2_304_000L, 4_250_000L);
        assertThat(backend.bytesBesideCache(shape, 3) - backend.bytesBesideCache(shape, 0))
                .as("on the way to a host tier of 3 blocks").isEqualTo(2 * 3 * 2304);
    }

    @Test
    void what_a_cache_takes_besides_its_blocks_is_told_before_and_256_mebibytes_are_left_to_the_driver() {
        var shape = new CacheShape(2, 1, 32, 16);
        long told = backend.bytesBesideCache(shape, 20_000);
        assertThat(told - backend.bytesBesideCache(shape, 0)).as("two regions on the way to the host")
                .isEqualTo(64 << 20);
        assertThat(backend.bytesBesideCache(shape, 3) - backend.bytesBesideCache(shape, 0))
                .as("of a small host tier: two times its 3 blocks").isEqualTo(2 * 3 * 4096);
        long free = backend.freeMemory().orElseThrow();
        backend.allocateKvCache(shape, 1000, 20_000);
        long taken = free - backend.freeMemory().orElseThrow();
        assertThat(taken - 1000 * 4096 + (256 << 20)).isEqualTo(told);
    }

    @Test
    void caches_without_kernels_are_refused_with_what_they_take() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> backend.allocateKvCache(new CacheShape(1, 1, 80, 16), 2, 0))
                .withMessage("heads have 80 elements, kernels take 32, 64, 96, 128 or 256: "
                        + "use warmpath.compute.backend=vector");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> backend.allocateKvCache(new CacheShape(1, 1, 64, 32), 2, 0))
                .withMessage("cache blocks have 32 tokens, kernels take 16: use warmpath.compute.backend=vector");
        var cache = rig.cache(2, 0);
        Tensor qkv = rig.activations(1, 19 * 32, 1);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> backend.pagedAttention(qkv, AttentionSpec.plain(32), null, new dev.warmpath.worker.compute.PagedBatch(rig.ints(0),
                        rig.ints(-1), rig.ints(1), rig.ints(0, 1), rig.ints(1), 1, 1, 1), cache, 0,
                        backend.allocate(DataType.BF16, 1, 17 * 32)))
                .withMessage("17 query heads share one of 1 KV heads, kernels take groups of at most 16: "
                        + "use warmpath.compute.backend=vector");
    }

    // ---- running out, and closing

    @ParameterizedTest
    @CsvSource({"cuMemAlloc_v2, 1", "cuMemAlloc_v2, 3", "cuMemAlloc_v2, 5", "cuMemHostAlloc, 1", "cuStreamCreate, 1",
        "cuEventCreate, 2"})
    void a_cache_that_does_not_fit_leaves_nothing_behind_and_the_backend_usable(String function, int nth) {
        var model = rig.new Successor(1);
        rig.readInts(model.tokens);
        int[] before = live();
        fake.fail(function, nth, OUT_OF_MEMORY);
        assertThatExceptionOfType(ComputeException.class).isThrownBy(() -> rig.cache(4, 2))
                .withMessageContaining(function).withMessageContaining("CUDA_ERROR_OUT_OF_MEMORY (2)");
        assertThat(live()).containsExactly(before);
        assertThat(rig.await(model.submit(rig.sampled(1), 1), 1)).containsExactly(4);
        var cache = rig.cache(4, 2);
        rig.fill(cache, 1, 2);
        assertThat(rig.seen(cache, 1)).isEqualTo(2);
    }

    private int[] live() {
        return new int[] {fake.live("device"), fake.live("pinned"), fake.live("stream"), fake.live("event")};
    }

    @Test
    void a_cache_larger_than_the_card_is_refused_with_both_sizes() {
        assertThatExceptionOfType(ComputeException.class).isThrownBy(() -> rig.cache(1 << 20, 0))
                .withMessageContaining("4,294,967,296 bytes for the KV cache");
    }

    @Test
    void closing_gives_everything_back_with_steps_and_copies_in_flight_and_closing_again_does_nothing() {
        var model = rig.new Successor(2);
        var cache = rig.cache(4, 2);
        rig.fill(cache, 1, 3);
        copy(cache, CopyDirection.DEVICE_TO_HOST, 1, 1);
        model.submit(rig.sampled(2), 1, 2);
        model.submit(rig.sampled(2), 1, 2);
        rig.write(model.tokens, 1, 2);
        backend.close();
        for (String kind : List.of("device", "pinned", "stream", "event", "module", "graph", "graphExec", "context",
                "cublas")) {
            assertThat(fake.live(kind)).as(kind).isZero();
        }
        backend.close();
    }

    @Test
    void a_timer_gives_a_time_for_each_repetition_and_its_memory_back() {
        var model = rig.new Successor(2);
        rig.write(model.tokens, 1, 2);
        var drawn = rig.sampled(2);
        DeviceTimer timer = backend.timer();
        timer.synchronize();
        int[] before = live();
        assertThat(timer.nanos(() -> model.compute(drawn, 2), 1, 3)).hasSize(3);
        assertThat(fake.calls("cuGraphLaunch")).as("a warm-up, too").isEqualTo(4);
        assertThat(fake.kernelCalls("wp_skinny_matmul_bf16_m1")).as("the cache is read after it was written")
                .isEqualTo(4);
        assertThat(timer.copyNanos(1 << 20, 2)).hasSize(2);
        assertThat(timer.hostCopyNanos(1 << 20, CopyDirection.DEVICE_TO_HOST, 2)).hasSize(2);
        assertThat(timer.hostCopyNanos(1 << 20, CopyDirection.HOST_TO_DEVICE, 2)).hasSize(2);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> timer.hostCopyNanos(1, CopyDirection.DEVICE_TO_DEVICE, 2));
        assertThat(live()).containsExactly(before);
        assertThat(fake.live("graphExec")).isZero();
        assertThat(rig.readInts(drawn.tokens())).containsExactly(4, 5);
    }
}
