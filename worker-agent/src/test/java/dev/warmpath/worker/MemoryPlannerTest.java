package dev.warmpath.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.worker.compute.MemoryPlace;
import dev.warmpath.worker.compute.cpu.ScalarBackend;
import dev.warmpath.worker.model.Footprint;
import dev.warmpath.worker.model.LayerShape;
import dev.warmpath.worker.model.ModelConfig;
import dev.warmpath.worker.model.ModelFamily;
import dev.warmpath.worker.model.StreamSpec;
import dev.warmpath.worker.model.StepSettings;
import dev.warmpath.worker.model.source.ModelSource;
import dev.warmpath.worker.model.Quantization;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.util.unit.DataSize;

/**
 * A model of 7 billion weights, 32 layers of 8 KV heads of 128, and a context of 32,768: a block of 16 tokens takes 4
 * MiB in float32. 150 MB of it lie on the heap, the weights beside it at a bit more than four bits each.
 */
class MemoryPlannerTest {

    private static final long MEGABYTE = 1 << 20;
    private static final ModelConfig MODEL = new ModelConfig(ModelFamily.LLAMA, 4_096,
            Collections.nCopies(32, LayerShape.plain(128, 10_000)), 32, 8, 128, 14_336, 32_000, 32_768, 1e-5f,
            StreamSpec.PLAIN, false);
    /** Asked for nothing here. */
    private static final ModelSource SOURCE = anyModel();
    private static final KvProperties OPEN = new Binder().bindOrCreate("warmpath.kv", KvProperties.class);

    @Test
    void eight_gigabytes_hold_the_model_and_a_shorter_context() {
        MemoryPlan plan = plan(1, 8_192, OPEN, null, null);

        // 8,192 less 512 of the system, 700 of the router, 352 of the JVM and 3,900 of weights are 2,728 for the heap;
        // less 341 of slack and 154 of the model, 2,233 have room for 502 blocks, which are 8,016 tokens
        assertThat(plan.config().contextLength()).isEqualTo(7_936);
        assertThat(plan.cache().cache().blockCount()).isEqualTo(497);
        assertThat(plan.kv().memory()).isEqualTo(DataSize.ofMegabytes(2_209));
        assertThat(Megabytes.of(plan.heapBytes())).isEqualTo(2_209 + 154 + 341);
        assertThat(plan.youngBytes()).isEqualTo(341 * MEGABYTE / 2);
    }

    @Test
    void two_workers_do_not_fit_and_the_sentence_has_all_the_numbers() {
        assertThatThrownBy(() -> plan(2, 8_192, OPEN, null, null)).isInstanceOf(SettingsException.class).hasMessage(
                "this machine has 8,192 MB, which is 2,310 MB too little: 2 workers take, each, 4,645 MB (a heap of "
                        + "393 MB, of which the KV cache takes 147 MB for a context of 512 tokens; 3,900 MB beside it "
                        + "for weights; 352 MB for the JVM and its buffers), routers and whatever else belongs to the "
                        + "fleet 700 MB, the system 512 MB. Start fewer workers, or take a smaller model, one of "
                        + "fewer bits a weight, or a machine with more memory");
    }

    @Test
    void two_workers_fit_where_they_share_weights() {
        MemoryPlan plan = plan(2, 8_192, MODEL, footprint(150, 3_900), OPEN, null, null, 64, /* shareWeights */ true);

        // 8,192 less 512 of the system, 700 of the router and 3,900 of weights are 1,540 for each; less 352 of the JVM,
        // 148 of slack and 150 and a little of the model, 889 have room for 3,072 tokens, which take 30 less
        assertThat(plan.sharedBytes()).isEqualTo(3_900 * MEGABYTE);
        assertThat(plan.config().contextLength()).isEqualTo(3_072);
        assertThat(Megabytes.of(plan.heapBytes())).isEqualTo(1_158);
        assertThat(2 * plan.neededBytes() + plan.sharedBytes()).isLessThan((8_192 - 512 - 700) * MEGABYTE);
        assertThatThrownBy(() -> plan(2, 5_900, MODEL, footprint(150, 3_900), OPEN, null, null, 64,
                /* shareWeights */ true)).isInstanceOf(SettingsException.class)
                .hasMessageContaining("3,900 MB beside it for weights, once for all of them; 352 MB for the JVM");

        MemoryPlan alone = plan(1, 8_192, MODEL, footprint(150, 3_900), OPEN, null, null, 64, /* shareWeights */ true);
        assertThat(alone.sharedBytes()).isZero();
        assertThat(alone.config().contextLength()).isEqualTo(7_936);
    }

    @Test
    void a_large_machine_holds_several_conversations_and_keeps_the_rest() {
        MemoryPlan plan = plan(2, 262_144, OPEN, null, null);

        // 4 times 2,049 blocks, a ninth more
        assertThat(plan.kv().memory()).isEqualTo(DataSize.ofMegabytes(36_428));
        assertThat(plan.config().contextLength()).isEqualTo(32_768);
        assertThat(plan.heapBytes()).isEqualTo((36_428 + 150 + 16 + 512) * MEGABYTE);
    }

    @Test
    void what_is_asked_for_is_what_is_planned() {
        MemoryPlan context = plan(1, 8_192, OPEN, null, 4_096);
        assertThat(context.config().contextLength()).isEqualTo(4_096);
        assertThat(context.kv().memory()).isEqualTo(DataSize.ofMegabytes(1_143));

        MemoryPlan cache = plan(1, 8_192, OPEN.withMemory(DataSize.ofMegabytes(600)), null, null);
        assertThat(cache.kv().memory()).isEqualTo(DataSize.ofMegabytes(600));
        assertThat(cache.config().contextLength()).isEqualTo(2_048);

        MemoryPlan heap = plan(1, 8_192, OPEN, DataSize.ofMegabytes(1_500), null);
        assertThat(heap.heapBytes()).isEqualTo(1_500 * MEGABYTE);
        // 1,500 less 188 of slack and 152 of the model
        assertThat(heap.kv().memory()).isEqualTo(DataSize.ofMegabytes(1_143));
        assertThat(heap.config().contextLength()).isEqualTo(4_096);
    }

    @Test
    void what_is_asked_for_and_does_not_fit_is_refused() {
        assertThatThrownBy(() -> plan(1, 8_192, OPEN, null, 16_384)).isInstanceOf(SettingsException.class)
                .hasMessageContaining("for a context of 16,384 tokens");
        assertThatThrownBy(() -> plan(1, 8_192, OPEN, DataSize.ofGigabytes(7), null))
                .isInstanceOf(SettingsException.class).hasMessageContaining("a heap of 7,168 MB")
                .hasMessageContaining("Lower -Xmx, or take");
        assertThatThrownBy(() -> plan(1, 8_192, OPEN.withMemory(DataSize.ofGigabytes(3)), null, null))
                .isInstanceOf(SettingsException.class).hasMessageContaining("Lower warmpath.kv.memory, or take");
        assertThatThrownBy(() -> plan(1, 8_192, OPEN.withMemory(DataSize.ofGigabytes(1)), DataSize.ofMegabytes(800),
                null)).isInstanceOf(SettingsException.class)
                .hasMessageContaining("but the heap that is asked for, where they lie, has room for");
    }

    @Test
    void a_small_model_gets_the_usual_heap_where_there_is_room_and_starts_where_there_is_little() {
        Footprint small = footprint(30, 0);
        ModelConfig tiny = new ModelConfig(ModelFamily.LLAMA, 192, Collections.nCopies(6, LayerShape.plain(32, 10_000)),
                6, 2, 32, 512, 2_048, 2_048, 1e-5f, StreamSpec.PLAIN, true);

        MemoryPlan laptop = plan(2, 8_192, tiny, small, OPEN, null, null);
        assertThat(laptop.heapBytes()).isEqualTo(1_024 * MEGABYTE);
        assertThat(laptop.kv().memory()).isEqualTo(DataSize.ofMegabytes(128));

        MemoryPlan little = plan(1, 1_536, tiny, small, OPEN, null, null);
        assertThat(little.heapBytes()).isEqualTo(388 * MEGABYTE);
        assertThat(little.kv().memory()).isEqualTo(DataSize.ofMegabytes(128));
    }

    /** Each of 256 sequences has its place in the heap by the token, so that a longer context leaves less room. */
    @Test
    void the_context_that_is_taken_has_room_in_heaps_of_every_size() {
        var small = new ModelConfig(ModelFamily.LLAMA, 896, Collections.nCopies(24, LayerShape.plain(64, 10_000)), 14,
                2, 64, 4_864, 151_936, 32_768, 1e-5f, StreamSpec.PLAIN, true);
        for (int megabytes = 400; megabytes < 1_200; megabytes++) {
            MemoryPlan plan = plan(1, 24_000, small, footprint(30, 1_000), OPEN, DataSize.ofMegabytes(megabytes), null,
                    256);
            assertThat(plan.cache().cache().blockCount() * 16).isGreaterThan(plan.config().contextLength());
        }
    }

    /** The worker measures its heap by the old generation. */
    @Test
    void a_cache_that_is_planned_has_room_beside_new_objects() {
        int planned = 0;
        for (int megabytes = 400; megabytes < 600; megabytes++) {
            var kv = OPEN.withMemory(DataSize.ofMegabytes(megabytes));
            try {
                MemoryPlan plan = plan(1, 24_000, MODEL, footprint(30, 1_000), kv, DataSize.ofMegabytes(600), 512);
                long blocks = plan.cache().cache().blockCount() * 4 * MEGABYTE;
                assertThat(blocks + 30 * MEGABYTE).isLessThan(600 * MEGABYTE - plan.youngBytes());
                planned++;
            } catch (SettingsException e) {
                assertThat(e).hasMessageContaining("room for");
            }
        }
        assertThat(planned).isBetween(100, 199);
    }

    private static MemoryPlan plan(int workers, long machineMegabytes, KvProperties kv, @Nullable DataSize heap,
            @Nullable Integer context) {
        return plan(workers, machineMegabytes, MODEL, footprint(150, 3_900), kv, heap, context);
    }

    private static MemoryPlan plan(int workers, long machineMegabytes, ModelConfig model, Footprint footprint,
            KvProperties kv, @Nullable DataSize heap, @Nullable Integer context) {
        return plan(workers, machineMegabytes, model, footprint, kv, heap, context, 64);
    }

    private static MemoryPlan plan(int workers, long machineMegabytes, ModelConfig model, Footprint footprint,
            KvProperties kv, @Nullable DataSize heap, @Nullable Integer context, int sequences) {
        return plan(workers, machineMegabytes, model, footprint, kv, heap, context, sequences,
                /* shareWeights */ false);
    }

    private static MemoryPlan plan(int workers, long machineMegabytes, ModelConfig model, Footprint footprint,
            KvProperties kv, @Nullable DataSize heap, @Nullable Integer context, int sequences,
            boolean shareWeights) {
        var settings = new MapConfigurationPropertySource(
                Map.of("warmpath.scheduler.max-num-seqs", Integer.toString(sequences)));
        var scheduler = new Binder(settings).bindOrCreate("warmpath.scheduler", SchedulerProperties.class)
                .toSettings(false);
        ModelConfig config = context == null ? model : model.withContextLength(context);
        try (var backend = new ScalarBackend()) {
            var start = new Preflight.Ready(SOURCE, config, context != null, Quantization.NONE, backend, scheduler,
                    new StepSettings(16, 16, 512, 64, 1), footprint);
            return new MemoryPlanner(start, kv, new MemoryPlanner.Given(machineMegabytes * MEGABYTE,
                    700 * MEGABYTE, heap, shareWeights)).plan(workers);
        }
    }

    private static ModelSource anyModel() {
        try {
            return ModelSource.of(Path.of("../models/warmpath-tiny"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Whatever the context. */
    private static Footprint footprint(long heapMegabytes, long besideMegabytes) {
        Map<MemoryPlace, Long> bytes = Map.of(MemoryPlace.HEAP, heapMegabytes * MEGABYTE,
                MemoryPlace.NATIVE, besideMegabytes * MEGABYTE);
        return new Footprint(1_024, bytes, bytes, 4_000 * MEGABYTE, "");
    }
}
