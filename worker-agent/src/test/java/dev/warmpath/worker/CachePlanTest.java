package dev.warmpath.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.warmpath.worker.HeapRoom.By;
import dev.warmpath.worker.compute.AttentionSpec;
import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.cpu.ScalarBackend;
import dev.warmpath.worker.kvcache.CacheGroup.SlidingWindow;
import dev.warmpath.worker.kvcache.FreeOrder;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.model.LayerShape;
import dev.warmpath.worker.model.ModelConfig;
import dev.warmpath.worker.model.ModelFamily;
import dev.warmpath.worker.model.Rotation;
import dev.warmpath.worker.model.StreamSpec;
import dev.warmpath.worker.scheduler.SchedulerSettings;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.BeanCreationException;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;
import org.springframework.core.io.support.SpringFactoriesLoader;

/** Settings as an operator writes them, for a model of 6 layers, 2 KV heads of 32 floats and a context of 2,048. */
class CachePlanTest {

    private static final ModelConfig MODEL =
            new ModelConfig(ModelFamily.LLAMA, 192, Collections.nCopies(6, LayerShape.plain(32, 10_000)), 6, 2, 32, 512,
                    2048, 2048, 1e-5f, StreamSpec.PLAIN, true);
    private static final long GIBIBYTE = 1 << 30;
    private static final long MEGABYTE = 1 << 20;
    private static final HeapRoom HEAP = new HeapRoom(GIBIBYTE, 0, By.THIS_JVM);
    private static final SchedulerSettings SCHEDULER = bind("scheduler", SchedulerProperties.class).toSettings(false);
    private static final long BESIDE = 16 << 20;

    @Test
    void by_default_the_cache_takes_nine_tenths_of_128_megabytes() {
        CachePlan plan = plan();

        assertThat(plan.size().arithmetic()).isEqualTo("2 (keys, values) x 16 tokens x 2 heads x 32 elements x 4 bytes "
                + "x 6 layers = 49,152 bytes a block; 134,217,728 bytes x 0.9 hold 2,457 blocks = 39,312 tokens");
        assertThat(plan.cache()).isEqualTo(KvCacheSettings.of(2_457, 16).withMaxLength(2_048));
    }

    @Test
    void a_cache_that_nobody_sizes_is_a_few_conversations_as_far_as_half_of_the_heap_or_one_of_them_goes() {
        // a whole context of 16,384 tokens is 1,025 blocks, 54 MB
        ModelConfig longer = MODEL.withContextLength(16_384);
        try (var backend = new ScalarBackend()) {
            assertThat(plan(longer, backend, heapWithRoomFor(1_000)).size().memoryBytes()).isEqualTo(216 * MEGABYTE);
            assertThat(plan(longer, backend, heapWithRoomFor(300)).size().memoryBytes()).isEqualTo(150 * MEGABYTE);
            assertThat(plan(longer, backend, heapWithRoomFor(60)).size().memoryBytes()).isEqualTo(54 * MEGABYTE);
            assertThat(CachePlan.longestContext(longer, backend, bind("kv", KvProperties.class), SCHEDULER,
                    heapWithRoomFor(60))).isEqualTo(16_384);
            assertThat(CachePlan.longestContext(longer, backend, bind("kv", KvProperties.class), SCHEDULER,
                    heapWithRoomFor(50))).isEqualTo(15_344);
        }
    }

    /** So routers are told of prefixes, or not, whatever the context is capped to. */
    @Test
    void a_window_stays_a_group_of_its_own_in_a_context_that_is_capped_below_it() {
        ModelConfig capped = new ModelConfig(ModelFamily.MISTRAL, 192, Collections.nCopies(6, new LayerShape(
                new AttentionSpec(1, /* window */ 1_024, AttentionSpec.NO_CAP, false), Rotation.plain(32, 10_000))),
                6, 2, 32, 512, 2048, 2048, 1e-5f, StreamSpec.PLAIN, true).withContextLength(512);
        try (var backend = new ScalarBackend()) {
            assertThat(plan(capped, backend, HEAP).cache().groups()).containsExactly(new SlidingWindow(1_024));
            // 32 blocks of its own and the null block, 49,152 bytes each, in 9/10 of the memory
            assertThat(CachePlan.leastMemory(capped, backend, bind("kv", KvProperties.class), SCHEDULER))
                    .isEqualTo(1_802_240);
        }
    }

    @Test
    void a_heap_that_the_model_fills_by_itself_is_too_small() {
        try (var backend = new ScalarBackend()) {
            assertThatThrownBy(() -> plan(MODEL, backend, new HeapRoom(GIBIBYTE, 27_000_000_000L, By.THIS_JVM)))
                    .isInstanceOf(SettingsException.class).hasMessage("the model takes 27,000,000,000 bytes, and "
                            + "there is no room for a KV cache: this JVM's heap, where they lie, has room for "
                            + "1,073,741,824 only. Start it with -Xmx38960m or more");
        }
    }

    @Test
    void in_bfloat16_a_block_is_half_the_bytes_and_everything_that_follows_from_them() {
        try (var backend = new ScalarBackend(CacheType.BF16)) {
            CachePlan plan = plan(backend, "kv.swap-space=1MB");
            assertThat(plan.size().arithmetic()).isEqualTo("2 (keys, values) x 16 tokens x 2 heads x 32 elements x 2 "
                    + "bytes x 6 layers = 24,576 bytes a block; 134,217,728 bytes x 0.9 hold 4,915 blocks = 78,640 "
                    + "tokens");
            assertThat(plan.cache().hostBlockCount()).isEqualTo(42);
            assertThat(plan("kv.swap-space=1MB").cache().hostBlockCount()).isEqualTo(21);
            assertThat(backend.bytesPerBlock(MODEL.cacheShape(16))).isEqualTo(24_576);
            // 129 blocks in 9/10 of the memory
            assertThat(CachePlan.leastMemory(MODEL, backend, bind("kv", KvProperties.class), SCHEDULER))
                    .isEqualTo(3_522_560);
            // 2,147,483,615 ints of 512 a block
            assertThat(backend.mostBlocks(MODEL.cacheShape(16))).isEqualTo(4_194_303);
        }
    }

    /** Megabytes. */
    private static HeapRoom heapWithRoomFor(long left) {
        return new HeapRoom(left * MEGABYTE + HeapRoom.LEAST_SLACK + 100, /* held */ 100, By.THIS_JVM);
    }

    @Test
    void more_blocks_than_an_array_has_elements_for_are_refused_before_they_are_allocated() {
        try (var backend = new ScalarBackend()) {
            // 2,147,483,615 elements of 1,024 a block
            assertThatThrownBy(() -> plan(MODEL, backend, new HeapRoom(1L << 40, 0, By.THIS_JVM),
                    "kv.block-count=2097152")).isInstanceOf(SettingsException.class).hasMessageContaining(
                            "has 2,097,152 blocks, and what computes here takes 2,097,151 of this model");
        }
    }

    @Test
    void every_setting_reaches_the_cache() {
        CachePlan plan = plan("kv.memory=64MB", "kv.memory-utilization=0.5", "kv.block-size=8", "kv.swap-space=1MB",
                "kv.prefix-caching=false", "kv.verify-tokens=false", "kv.free-order=release-order", "kv.watermark=0.1");

        assertThat(plan.cache()).isEqualTo(KvCacheSettings.of(1_365, 8).withMaxLength(2_048).withPrefixCaching(false)
                .withVerifyTokens(false).withFreeOrder(FreeOrder.RELEASE_ORDER).withWatermark(0.1)
                .withHostBlockCount(42));
    }

    @Test
    void a_number_of_blocks_stands_in_for_memory() {
        CachePlan plan = plan("kv.block-count=256");

        assertThat(plan.cache().blockCount()).isEqualTo(256);
        assertThat(plan.size().bytes()).isEqualTo(256 * 49_152);
    }

    @Test
    void blocks_and_memory_together_are_refused_with_both_values() {
        assertThatThrownBy(() -> plan("kv.block-count=256", "kv.memory=64MB")).rootCause().hasMessage(
                "warmpath.kv.block-count is 256, and warmpath.kv.memory is 67108864B: the cache's size is given either "
                        + "as blocks or as memory, not as both. Remove one of the two");
        assertThatThrownBy(() -> plan("kv.block-count=256", "kv.memory-utilization=0.5")).rootCause()
                .hasMessageContaining("warmpath.kv.memory-utilization is 0.5");
    }

    @Test
    void shares_out_of_range_and_negative_memory_are_refused_by_value() {
        assertThatThrownBy(() -> plan("kv.memory-utilization=0")).rootCause().hasMessage(
                "warmpath.kv.memory-utilization is 0.0, but it is a share of the memory. "
                        + "Give a number above 0 and at most 1");
        assertThatThrownBy(() -> plan("kv.memory-utilization=1.5")).rootCause().hasMessageContaining("is 1.5");
        assertThatThrownBy(() -> plan("kv.watermark=1")).rootCause()
                .hasMessageContaining("warmpath.kv.watermark is 1.0");
        assertThatThrownBy(() -> plan("kv.memory=-1MB")).rootCause().hasMessageContaining("no memory is negative");
    }

    @Test
    void a_pool_that_cannot_hold_one_request_names_the_context_that_it_could_hold() {
        assertThatThrownBy(() -> plan("kv.block-count=128")).hasMessage("the pool has 128 blocks of 16 tokens, but one "
                + "sequence of the model's whole context of 2,048 tokens needs 129, the null block included; "
                + "2,032 tokens would fit. Give the cache warmpath.kv.block-count=129, "
                + "or cap the context by warmpath.model.context-length=2032");
        assertThatThrownBy(() -> plan("kv.memory=3MB")).hasMessageContaining("the pool has 57 blocks")
                .hasMessageContaining("896 tokens would fit. Give the cache warmpath.kv.memory=7MB or more, or cap");
        try (var backend = new ScalarBackend()) {
            assertThat(plan(MODEL.withContextLength(2_032), backend, HEAP, "kv.block-count=128").cache()
                    .maxLength()).isEqualTo(2_032);
            assertThatThrownBy(() -> plan(MODEL.withContextLength(2_033), backend, HEAP, "kv.block-count=128"))
                    .hasMessageContaining("2,032 tokens would fit");
        }
        assertThat(plan("kv.block-count=129").cache().blockCount()).isEqualTo(129);
        assertThat(plan("kv.memory=7MB").cache().blockCount()).isEqualTo(134);
    }

    @Test
    void memory_without_room_for_two_blocks_or_past_all_numbers_is_refused_with_the_arithmetic() {
        assertThatThrownBy(() -> plan("kv.memory=1KB")).hasMessageContaining("warmpath.kv.memory is too small")
                .hasMessageContaining("1,024 bytes x 0.9 hold 0 blocks");
        assertThatThrownBy(() -> plan("kv.memory=8TB"))
                .hasMessageContaining("warmpath.kv.memory or warmpath.kv.block-count is too large");
    }

    @Test
    void swap_space_below_one_block_is_refused() {
        assertThatThrownBy(() -> plan("kv.swap-space=32KB")).hasMessage(
                "warmpath.kv.swap-space is 32768B, but one block of 16 tokens, warmpath.kv.block-size, takes 49152 "
                        + "bytes. Give swap space for several blocks, or 0 for none");
        assertThat(plan("kv.swap-space=49152B").cache().hostBlockCount()).isEqualTo(1);
        assertThat(plan("kv.swap-space=0").cache().hostBlockCount()).isZero();
    }

    @Test
    void more_than_the_heap_holds_is_refused_before_it_is_allocated() {
        // 1.5 times what is needed: a part of a heap is for new objects
        assertThatThrownBy(() -> plan("kv.memory=1GB", "kv.swap-space=512MB")).hasMessage(
                "the model takes 0 bytes, its KV cache 966,328,320 (warmpath.kv.memory or warmpath.kv.block-count) and "
                        + "swap space 536,838,144 (warmpath.kv.swap-space), but this JVM's heap, where they lie, has "
                        + "room for 1,073,741,824 only. Start it with -Xmx2295m or more, or give the cache less");
        try (var backend = new ScalarBackend()) {
            assertThatThrownBy(() -> plan(MODEL, backend, new HeapRoom(GIBIBYTE, 960_000_000, By.THIS_JVM),
                    "kv.memory=128MB")).hasMessageContaining("the model takes 960,000,000 bytes, its KV cache 120,");
        }
    }

    @Test
    void a_device_of_its_own_gives_nine_tenths_of_what_it_has_left_beside_the_cache() {
        CachePlan plan = plan(device(1 << 30));

        assertThat(plan.arithmetic()).isEqualTo("2 (keys, values) x 16 tokens x 2 heads x 32 elements x 2 bytes "
                + "x 6 layers = 24,576 bytes a block; of the device's 1,181,116,006,400 bytes 1,073,741,824 are free; "
                + "less 16,777,216 for what goes beside the cache, 1,056,964,608 are left; "
                + "1,056,964,608 bytes x 0.9 hold 38,707 blocks = 619,312 tokens");
        assertThat(plan.leftOver()).isZero();
        assertThat(plan(device(1 << 30), "kv.memory=12MB").cache().blockCount()).isEqualTo(460);
        assertThat(plan(device(1 << 30), "kv.block-count=200").cache().blockCount()).isEqualTo(200);
    }

    @Test
    void all_that_is_left_leaves_what_goes_beside_the_cache_alone() {
        // 3 blocks of swap space are a megabyte more beside: 1,039 MiB less 16 and 1
        CachePlan plan = plan(device(1_039 << 20), "kv.memory-utilization=1", "kv.swap-space=73728B");

        assertThat(plan.size().memoryBytes()).isEqualTo(1_022 << 20);
        assertThat(plan.cache().hostBlockCount()).isEqualTo(3);
    }

    @Test
    void a_pool_taken_from_a_large_device_leaves_the_heap_room_for_its_books() {
        CachePlan plan = plan(device((140L << 30) + BESIDE));

        // a quarter of the heap, 192 + 16 * 4 bytes a block
        assertThat(plan.cache().blockCount()).isEqualTo(1 << 20);
        // 140 GiB x 0.9 are 5,505,024 blocks
        assertThat(plan.leftOver()).isEqualTo(4_456_448);
        assertThatThrownBy(() -> plan(device(1L << 30), /* heap */ 100 << 10)).isInstanceOf(SettingsException.class)
                .hasMessageContaining("the pool has 100 blocks").hasMessageContaining(
                        "Start it with -Xmx1m or more: books on the pool's blocks take up to a quarter of the heap");
    }

    @Test
    void more_than_the_device_has_left_is_refused_and_the_heap_is_not_asked() {
        assertThatThrownBy(() -> plan(device(1 << 30), "kv.memory=2GB")).hasMessage(
                "the KV cache (warmpath.kv.memory or warmpath.kv.block-count) takes 1,932,730,368 bytes, but of the "
                        + "device's 1,181,116,006,400 bytes 1,073,741,824 are free; less 16,777,216 for what goes "
                        + "beside the cache, 1,056,964,608 are left. Lower it, or leave both unset to use what is "
                        + "left");
        assertThat(plan(device(4L << 30), "kv.memory=2GB").size().bytes()).isGreaterThan(GIBIBYTE);
    }

    @Test
    void a_device_without_room_for_one_request_is_told_from_a_setting_that_is_too_low() {
        assertThatThrownBy(() -> plan(device((3 << 20) + BESIDE))).hasMessageContaining("the pool has 115 blocks")
                .hasMessageContaining("The model must leave 20MB of the device's memory: end what else runs there, "
                        + "raise warmpath.kv.memory-utilization, or nearly halve the cache by "
                        + "warmpath.kv.cache-dtype=fp8");
        assertThatThrownBy(() -> plan(device((3 << 20) + BESIDE), "kv.cache-dtype=fp8"))
                .hasMessageContaining("end what else runs there, raise warmpath.kv.memory-utilization, or cap");
        assertThatThrownBy(() -> plan(device(BESIDE))).hasMessageStartingWith(
                "the device has no room for a cache of 2 blocks: 2 (keys, values) x ")
                .hasMessageEndingWith("End what else runs there, or compute on processors by "
                        + "warmpath.compute.backend=vector");
        assertThatThrownBy(() -> plan(device(1 << 30), "kv.memory=3MB"))
                .hasMessageContaining("Give the cache warmpath.kv.memory=4MB or more");
    }

    @Test
    void a_cache_aware_order_needs_prefix_caching() {
        assertThatThrownBy(() -> plan("kv.prefix-caching=false", "scheduler.cache-aware-window=8"))
                .hasMessageContaining(
                        "warmpath.scheduler.cache-aware-window is 8, but warmpath.kv.prefix-caching is false");
    }

    @Test
    void the_devices_blocks_divide_the_caches() {
        assertThat(bind("compute", ComputeProperties.class).kernelBlockSize(16, /* builtFor */ 0)).isEqualTo(16);
        ComputeProperties compute = bind("compute", ComputeProperties.class, "compute.kernel-block-size=8");

        assertThat(compute.kernelBlockSize(16, 0)).isEqualTo(8);
        assertThatThrownBy(() -> compute.kernelBlockSize(12, 0)).hasMessage(
                "warmpath.compute.kernel-block-size is 8, but warmpath.kv.block-size is 12: the cache's blocks cannot "
                        + "be cut into the device's. Give a divisor of the block size, or 0 for the same");
    }

    @Test
    void kernels_that_are_built_for_blocks_of_16_take_multiples_of_them_and_nothing_else() {
        ComputeProperties compute = bind("compute", ComputeProperties.class);
        ComputeProperties eights = bind("compute", ComputeProperties.class, "compute.kernel-block-size=8");

        assertThat(compute.kernelBlockSize(64, /* builtFor */ 16)).isEqualTo(16);
        assertThatThrownBy(() -> compute.kernelBlockSize(8, 16)).hasMessage(
                "warmpath.kv.block-size is 8, but the kernels of this device take blocks of 16 tokens. "
                        + "Give a multiple of 16, or compute on processors by warmpath.compute.backend=vector");
        assertThatThrownBy(() -> eights.kernelBlockSize(16, 16)).hasMessage(
                "warmpath.compute.kernel-block-size is 8, but the kernels of this device take blocks of 16 tokens. "
                        + "Leave it at 0, or compute on processors by warmpath.compute.backend=vector");
    }

    @Test
    void the_next_step_is_prepared_ahead_where_it_suits_the_device_unless_the_operator_says() {
        SchedulerProperties unset = bind("scheduler", SchedulerProperties.class);
        assertThat(unset.toSettings(/* onDevice */ true).asyncScheduling()).isTrue();
        assertThat(unset.toSettings(false).asyncScheduling()).isFalse();
        SchedulerProperties off = bind("scheduler", SchedulerProperties.class, "scheduler.async-scheduling=false");
        assertThat(off.toSettings(true).asyncScheduling()).isFalse();
    }

    @Test
    void a_card_takes_larger_steps_than_processors_unless_the_operator_says() {
        SchedulerProperties unset = bind("scheduler", SchedulerProperties.class);
        assertThat(unset.toSettings(/* onDevice */ true)).extracting("maxBatchedTokens", "maxSequences")
                .containsExactly(8_192, 256);
        assertThat(unset.toSettings(false)).extracting("maxBatchedTokens", "maxSequences").containsExactly(512, 64);
        assertThat(bind("scheduler", SchedulerProperties.class, "scheduler.max-num-batched-tokens=100")
                .toSettings(true)).extracting("maxBatchedTokens", "maxSequences").containsExactly(100, 100);
    }

    @Test
    void a_step_has_a_token_for_every_sequence() {
        assertThatThrownBy(() -> plan("scheduler.max-num-batched-tokens=63", "scheduler.max-num-seqs=64")).isInstanceOf(SettingsException.class)
                .hasMessageStartingWith("warmpath.scheduler.max-num-batched-tokens is 63, "
                        + "but warmpath.scheduler.max-num-seqs is 64: ");
        assertThat(plan("scheduler.max-num-batched-tokens=64").cache().blockCount()).isEqualTo(2_457);
    }

    @Test
    void prompts_that_may_not_be_cut_fit_into_a_step_whole() {
        assertThatThrownBy(() -> plan("scheduler.chunked-prefill=false", "scheduler.max-num-batched-tokens=2047"))
                .isInstanceOf(SettingsException.class).hasMessage(
                        "warmpath.scheduler.chunked-prefill is false, and warmpath.scheduler.max-num-batched-tokens is "
                                + "2047, but the model's context is 2048: a prompt that does not fit into one step "
                                + "would never be computed. Turn chunked prefill on, or give a step 2048 tokens");
        plan("scheduler.chunked-prefill=false", "scheduler.max-num-batched-tokens=2048");
    }

    @Test
    void prompts_that_may_not_be_cut_have_no_threshold() {
        assertThatThrownBy(() -> plan("scheduler.chunked-prefill=false", "scheduler.max-num-batched-tokens=2048",
                "scheduler.long-prefill-token-threshold=256")).isInstanceOf(SettingsException.class)
                .hasMessageStartingWith("warmpath.scheduler.long-prefill-token-threshold is 256, "
                        + "but warmpath.scheduler.chunked-prefill is false: ");
    }

    @Test
    void a_cache_aware_order_lets_requests_be_overtaken() {
        assertThatThrownBy(() -> plan("scheduler.cache-aware-window=8", "scheduler.overtake-limit=0s"))
                .isInstanceOf(SettingsException.class)
                .hasMessageStartingWith("warmpath.scheduler.cache-aware-window is 8, "
                        + "but warmpath.scheduler.overtake-limit is 0: ");
    }

    /** In whatever Spring wraps it on its way out of a binding or a bean. */
    @Test
    void a_start_that_fails_for_its_settings_prints_the_contradiction_and_the_remedy() {
        // some of Spring's own want a bean factory; they are left out
        var analyzers = SpringFactoriesLoader.forDefaultResourceLocation().load(FailureAnalyzer.class,
                (_, _, _) -> { });

        for (String setting : List.of("kv.watermark=1", "kv.block-count=128")) {
            Throwable start = new BeanCreationException("cachePlan", "no", catchThrowable(() -> plan(setting)));
            FailureAnalysis analysis = analyzers.stream().filter(SettingsFailureAnalyzer.class::isInstance).findFirst()
                    .orElseThrow().analyze(start);
            assertThat(analysis.getDescription()).matches("warmpath.kv.watermark is 1.0,.*|the pool has 128 .*");
            assertThat(analysis.getAction()).startsWith("Give ");
        }
    }

    private static CachePlan plan(String... settings) {
        try (var backend = new ScalarBackend()) {
            return plan(backend, settings);
        }
    }

    private static CachePlan plan(ComputeBackend backend, String... settings) {
        return plan(backend, GIBIBYTE, settings);
    }

    private static CachePlan plan(ComputeBackend backend, long heap, String... settings) {
        return plan(MODEL, backend, new HeapRoom(heap, 0, By.THIS_JVM), settings);
    }

    private static CachePlan plan(ModelConfig model, ComputeBackend backend, HeapRoom heap, String... settings) {
        return CachePlan.of(model, backend, bind("kv", KvProperties.class, settings),
                bind("scheduler", SchedulerProperties.class, settings).toSettings(false), heap);
    }

    /**
     * Answers what a plan asks of a device of 1,100 GiB that keeps keys and values in two bytes each, and nothing else.
     * Beside a cache it wants 16 MiB, and one more for a host tier.
     */
    private static ComputeBackend device(long freeMemory) {
        return (ComputeBackend) Proxy.newProxyInstance(CachePlanTest.class.getClassLoader(),
                new Class<?>[] {ComputeBackend.class}, (_, method, arguments) -> switch (method.getName()) {
                    case "freeMemory" -> OptionalLong.of(freeMemory);
                    case "totalMemory" -> OptionalLong.of(1_100L << 30);
                    case "bytesBesideCache" -> BESIDE + ((int) arguments[1] > 0 ? 1 << 20 : 0);
                    case "cacheType" -> CacheType.BF16;
                    case "mostBlocks" -> Integer.MAX_VALUE;
                    default -> throw new IllegalStateException(method.getName());
                });
    }

    /** Reads {@code name=value} as Spring does. */
    private static <T> T bind(String capability, Class<T> type, String... settings) {
        Map<String, String> source = Arrays.stream(settings).map(setting -> setting.split("="))
                .collect(Collectors.toMap(parts -> "warmpath." + parts[0], parts -> parts[1]));
        return new Binder(new MapConfigurationPropertySource(source)).bindOrCreate("warmpath." + capability, type);
    }
}
