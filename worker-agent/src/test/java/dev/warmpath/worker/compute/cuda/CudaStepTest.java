package dev.warmpath.worker.compute.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.catchThrowable;

import com.sun.management.ThreadMXBean;
import dev.warmpath.worker.compute.AttentionSpec;
import dev.warmpath.worker.compute.Completion;
import dev.warmpath.worker.compute.ComputeException;
import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.DeviceLostException;
import dev.warmpath.worker.compute.PagedBatch;
import dev.warmpath.worker.compute.Recording;
import dev.warmpath.worker.compute.SampledTokens;
import dev.warmpath.worker.compute.Tensor;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Executors;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Steps on the emulated device: when they are launched, what is replayed, what may be in flight, what fails. */
@OnEmulatedDevice
class CudaStepTest {

    private static final int INVALID_VALUE = 1;
    private static final int OUT_OF_MEMORY = 2;
    private static final int LAUNCH_FAILED = 719;

    private BackendRig rig;
    private FakeCuda fake;
    private CudaBackend backend;

    @BeforeEach
    void open() {
        rig = new BackendRig();
        fake = rig.fake;
        backend = rig.backend;
    }

    @AfterEach
    void close() {
        rig.close();
    }

    @Test
    void nothing_is_launched_before_submit_and_the_host_waits_for_nothing_before_await() {
        var model = rig.new Successor(2);
        SampledTokens drawn = rig.sampled(2);
        rig.readInts(model.tokens);                                            // the model's own writes are through
        int launches = fake.calls("cuLaunchKernel");
        int waits = fake.calls("cuStreamSynchronize") + fake.calls("cuEventSynchronize");
        rig.write(model.tokens, 1, 6);
        model.compute(drawn, 2);
        assertThat(fake.calls("cuLaunchKernel")).isEqualTo(launches);
        Completion step = backend.submit(drawn, 2);
        assertThat(fake.calls("cuStreamSynchronize") + fake.calls("cuEventSynchronize"))
                .as("a slot that was never used is free").isLessThanOrEqualTo(waits + 1);
        assertThat(fake.kernelCalls("wp_sample")).as("streams run late").isZero();
        assertThat(rig.await(step, 2)).containsExactly(4, 1);
    }

    @Test
    void the_same_step_is_captured_once_and_replayed_with_other_values() {
        var model = rig.new Successor(1);
        SampledTokens drawn = rig.sampled(1);
        for (int token = 0; token < 5; token++) {
            assertThat(rig.await(model.submit(drawn, token), 1)).containsExactly((token + 3) % 8);
        }
        assertThat(fake.calls("cuStreamBeginCapture_v2")).isEqualTo(1);
        assertThat(fake.calls("cuGraphLaunch")).as("all but the first").isEqualTo(4);
        assertThat(fake.live("graphExec")).isEqualTo(1);
        assertThat(fake.live("graph")).isZero();
        assertThat(fake.kernelCalls("wp_sample")).isEqualTo(5);
    }

    @Test
    void a_step_of_3_rows_shares_the_graph_of_4_and_leaves_the_fourth_row_as_it_was() {
        var model = rig.new Successor(4);
        SampledTokens drawn = rig.sampled(4);
        rig.await(model.submit(drawn, 0, 1, 2, 3), 4);
        float[] before = rig.readFloats(model.hidden);
        rig.write(model.tokens, 0, 0, 0, 0);
        assertThat(rig.await(model.submit(drawn, 5, 6, 7), 3)).containsExactly(0, 1, 2);
        assertThat(rig.readInts(drawn.tokens())).containsExactly(0, 1, 2, 6);
        assertThat(Arrays.copyOfRange(rig.readFloats(model.hidden), 24, 32))
                .containsExactly(Arrays.copyOfRange(before, 24, 32));
        assertThat(fake.calls("cuStreamBeginCapture_v2")).isEqualTo(1);
    }

    @ParameterizedTest
    @CsvSource({"1, 1", "2, 2", "3, 4", "5, 8", "9, 16", "64, 64", "65, 80", "129, 160", "255, 256", "256, 256"})
    void rows_are_rounded_up_to_few_buckets_which_products_round_up_to_the_same_rows(int rows, int bucket) {
        assertThat(StepGraphs.bucket(rows)).isEqualTo(bucket);
        assertThat(GemmPlans.bucket(bucket)).isEqualTo(GemmPlans.bucket(rows));
    }

    @Test
    void a_step_of_257_rows_is_launched_kernel_by_kernel() {
        var model = rig.new Successor(257);
        int[] tokens = new int[257];
        Arrays.setAll(tokens, row -> row % 8);
        int[] next = rig.await(model.submit(rig.sampled(257), tokens), 257);
        for (int row = 0; row < 257; row++) {
            assertThat(next[row]).isEqualTo((row + 3) % 8);
        }
        assertThat(fake.calls("cuGraphLaunch")).isZero();
    }

    @Test
    void old_graphs_go_when_there_are_128() {
        for (int i = 0; i < 130; i++) {
            var model = rig.new Successor(1);
            assertThat(rig.await(model.submit(rig.sampled(1), i % 8), 1)).containsExactly((i + 3) % 8);
        }
        assertThat(fake.live("graphExec")).isEqualTo(128);
        assertThat(fake.calls("cuGraphExecDestroy")).isEqualTo(2);
    }

    @Test
    void a_step_takes_the_tokens_of_the_one_before_that_nobody_has_awaited() {
        var model = rig.new Successor(2);
        Tensor sources = rig.ints(1, -1);
        SampledTokens[] ring = {rig.sampled(2), rig.sampled(2)};
        List<Completion> steps = new ArrayList<>();
        steps.add(model.submit(ring[0], 0, 1));                                // draws 3 4
        for (int step = 1; step < 6; step++) {
            if (steps.size() == 2) {
                rig.await(steps.removeFirst(), 2);
            }
            rig.write(model.tokens, 7, 7);
            backend.feedTokens(ring[(step - 1) % 2], sources, model.tokens, 2);
            model.compute(ring[step % 2], 2);
            steps.add(backend.submit(ring[step % 2], 2));
        }
        // row 0 takes row 1 of the step before; row 1 of each but the first starts at 7: 7 → 2 → 5
        rig.await(steps.removeFirst(), 2);
        assertThat(rig.await(steps.removeFirst(), 2)).containsExactly(5, 2);
    }

    @Test
    void one_graph_serves_every_place_of_the_ring_with_tokens_fed_or_not() {
        var model = rig.new Successor(2);
        Tensor sources = rig.ints(0, 1);
        SampledTokens[] ring = {rig.sampled(2), rig.sampled(2), rig.sampled(2), rig.sampled(2)};
        List<Completion> steps = new ArrayList<>(List.of(model.submit(ring[0], 0, 1)));
        for (int step = 1; step < 12; step++) {
            backend.feedTokens(ring[(step - 1) % 4], sources, model.tokens, 2);
            model.compute(ring[step % 4], 2);
            steps.add(backend.submit(ring[step % 4], 2));
            if (steps.size() == 4) {
                rig.await(steps.removeFirst(), 2);
            }
        }
        rig.await(steps.removeFirst(), 2);
        rig.await(steps.removeFirst(), 2);
        assertThat(rig.await(steps.removeFirst(), 2)).as("12 times 3 on from 0 and 1, modulo 8").containsExactly(4, 5);
        assertThat(fake.calls("cuStreamBeginCapture_v2")).isEqualTo(1);
        assertThat(fake.calls("cuGraphLaunch")).isEqualTo(11);
    }

    @Test
    void twenty_steps_in_flight_keep_their_inputs_and_results_though_pinned_slots_are_reused() {
        var model = rig.new Successor(1);
        List<Completion> steps = new ArrayList<>();
        for (int step = 0; step < 20; step++) {
            steps.add(model.submit(rig.sampled(1), step % 8));
        }
        for (int step = 0; step < 20; step++) {
            assertThat(rig.await(steps.get(step), 1)).containsExactly((step + 3) % 8);
        }
    }

    // ---- threads

    @Test
    void whoever_submits_the_first_step_owns_the_card_and_other_threads_are_refused() throws Exception {
        var model = rig.new Successor(1);                                      // loaded by this thread
        SampledTokens drawn = rig.sampled(1);
        try (var engine = Executors.newSingleThreadExecutor(Thread.ofPlatform().name("engine").factory())) {
            assertThat(engine.submit(() -> rig.await(model.submit(drawn, 1), 1)).get()).containsExactly(4);
            List<ThrowingCallable> calls = List.of(() -> rig.write(model.tokens, 2),
                    () -> backend.embed(model.tokens, model.table, model.hidden, 1), () -> backend.submit(drawn, 1),
                    () -> rig.readInts(model.tokens), () -> backend.allocate(DataType.I32, 1, 1));
            for (ThrowingCallable call : calls) {
                assertThatIllegalStateException().isThrownBy(call)
                        .withMessage("the CUDA device belongs to thread engine, which submitted the first step: "
                                + Thread.currentThread().getName() + " may only close it");
            }
            assertThat(backend.freeMemory()).as("may be asked by all").isPresent();
            assertThat(engine.submit(() -> rig.await(model.submit(drawn, 2), 1)).get()).containsExactly(5);
        }
        backend.close();                                                       // the engine's thread has ended
        assertThat(fake.live("device")).isZero();
        assertThat(fake.live("context")).isZero();
    }

    @Test
    void closing_beside_a_thread_that_still_computes_frees_nothing_under_it_and_refuses_its_next_call()
            throws Exception {
        var model = rig.new Successor(1);
        SampledTokens drawn = rig.sampled(1);
        try (var engine = Executors.newSingleThreadExecutor(Thread.ofPlatform().name("engine").factory())) {
            engine.submit(() -> rig.await(model.submit(drawn, 1), 1)).get();
            int memory = fake.live("device");
            backend.close();
            assertThat(fake.live("device")).isEqualTo(memory);
            assertThat(engine.submit(() -> catchThrowable(() -> model.submit(drawn, 2))).get())
                    .isInstanceOf(IllegalStateException.class).hasMessage("the CUDA device is closed");
        }
    }

    // ---- values

    @Test
    void writes_take_effect_in_their_order_around_operations() {
        Tensor source = rig.activations(2, 8, 1);
        Tensor rows = rig.ints(0, 1);
        Tensor first = backend.allocate(DataType.BF16, 2, 8);
        Tensor second = backend.allocate(DataType.BF16, 2, 8);
        backend.write(source, rig.bf16(16, 2));
        backend.write(source, rig.bf16(8, 3));                                 // row 0 of the same tensor again
        backend.gatherRows(source, rows, first, 2);
        backend.write(source, rig.bf16(16, 4));
        backend.gatherRows(source, rows, second, 2);
        assertThat(rig.readFloats(first)).containsExactly(3, 3, 3, 3, 3, 3, 3, 3, 2, 2, 2, 2, 2, 2, 2, 2);
        assertThat(rig.readFloats(second)).containsOnly(4);
    }

    @Test
    void writes_of_one_step_cross_together_and_two_to_one_place_one_after_the_other() {
        Tensor one = rig.ints(1, 1);
        Tensor two = rig.ints(1, 1);
        rig.readInts(two);
        int spread = fake.kernelCalls("wp_scatter_writes");
        int copies = fake.calls("cuMemcpyHtoDAsync_v2");
        rig.write(one, 2, 2);
        rig.write(two, 3, 3);
        assertThat(rig.readInts(one)).containsExactly(2, 2);
        assertThat(fake.kernelCalls("wp_scatter_writes")).isEqualTo(spread + 1);
        assertThat(fake.calls("cuMemcpyHtoDAsync_v2")).isEqualTo(copies + 1);
        rig.write(one, 4, 4);
        rig.write(one, 5);
        assertThat(rig.readInts(one)).containsExactly(5, 4);
        assertThat(fake.kernelCalls("wp_scatter_writes")).isEqualTo(spread + 3);
    }

    @Test
    void writes_that_no_slot_holds_and_odd_numbers_of_bytes_cross_directly() {
        int count = 3 * 1024 * 1024 / 4 + 5;
        int[] values = new int[count];
        Arrays.setAll(values, i -> i);
        assertThat(rig.readInts(rig.ints(values))).isEqualTo(values);

        Tensor odd = rig.activations(1, 8, 1);
        backend.write(odd, rig.bf16(3, 5));
        assertThat(rig.readFloats(odd)).containsExactly(5, 5, 5, 1, 1, 1, 1, 1);
    }

    @Test
    void more_writes_than_a_slot_has_entries_all_arrive() {
        List<Tensor> tensors = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            tensors.add(rig.ints(i, -i));
        }
        for (int i = 0; i < 200; i++) {
            assertThat(rig.readInts(tensors.get(i))).containsExactly(i, -i);
        }
    }

    @Test
    void two_batches_of_one_step_are_planned_each_for_itself() {
        var cache = rig.cache(8, 0);
        rig.fill(cache, 1, 2);
        rig.fill(cache, 2, 5);
        Tensor query = rig.activations(2, 96, 1);
        Tensor one = backend.allocate(DataType.BF16, 1, 32);
        Tensor two = backend.allocate(DataType.BF16, 2, 32);
        var short1 = new PagedBatch(rig.ints(15), rig.ints(-1), rig.ints(1), rig.ints(0, 1), rig.ints(16), 1, 1, 1);
        var long2 = new PagedBatch(rig.ints(15, 16), rig.ints(-1, -1), rig.ints(2, 2), rig.ints(0, 2), rig.ints(17), 2,
                1, 2);
        backend.pagedAttention(query, AttentionSpec.plain(32), null, short1, cache, 0, one);
        backend.pagedAttention(query, AttentionSpec.plain(32), null, long2, cache, 0, two);
        assertThat(rig.readFloats(one)).containsOnly(2);
        assertThat(rig.readFloats(two)).containsOnly(5);
        assertThat(fake.kernelCalls("wp_decode_attention_bf16_d32")).isEqualTo(1);
        assertThat(fake.kernelCalls("wp_prefill_attention_bf16_d32")).isEqualTo(1);
    }

    /** A decode step over a cache; the sequence in row r is as long as said and lies in blocks of its own. */
    private float[] decode(Decoding decoding, int... lengths) {
        int[] ones = new int[lengths.length];
        Arrays.fill(ones, -1);
        rig.write(decoding.batch.contextLengths(), lengths);
        rig.write(decoding.batch.slotMapping(), ones);
        var batch = new PagedBatch(decoding.batch.positions(), decoding.batch.slotMapping(),
                decoding.batch.blockTables(), decoding.batch.queryStarts(), decoding.batch.contextLengths(),
                lengths.length, lengths.length, decoding.batch.blockTableStride());
        backend.repeat(decoding.recording, batch, () -> {
            backend.rotateAndStoreKv(decoding.qkv, decoding.rotary, batch, decoding.cache, 1);
            backend.pagedAttention(
                    decoding.qkv, AttentionSpec.plain(32), null, batch, decoding.cache, 1, decoding.output);
        });
        rig.await(backend.submit(decoding.drawn, 0), 0);
        return rig.readFloats(decoding.output);
    }

    private record Decoding(dev.warmpath.worker.compute.KvCache cache, PagedBatch batch, Tensor qkv, Tensor rotary,
                            Tensor output, SampledTokens drawn, Recording recording) {
    }

    @Test
    void attention_of_other_lengths_and_pieces_replays_the_same_graph() {
        var cache = rig.cache(130, 0);
        for (int block = 1; block < 130; block++) {
            rig.fill(cache, block, block <= 64 ? 2 : 6);
        }
        int[] tables = new int[4 * 128];
        Arrays.setAll(tables, i -> i % 128 + 1);
        var batch = new PagedBatch(rig.ints(0, 0, 0, 0), rig.ints(-1, -1, -1, -1), rig.ints(tables),
                rig.ints(0, 1, 2, 3, 4), rig.ints(1, 1, 1, 1), 4, 4, 128);
        var decoding = new Decoding(cache, batch, rig.activations(4, 96, 1), rig.floats(1, 32, new float[32]),
                backend.allocate(DataType.BF16, 4, 32), rig.sampled(1), new Recording());
        float[] rows = decode(decoding, 2048, 16, 1024, 1040);
        assertThat(new float[] {rows[0], rows[32], rows[64]}).containsExactly(4, 2, 2);
        assertThat(rows[96]).isEqualTo(2.0625f);                               // (64 · 2 + 6) / 65, rounded
        rows = decode(decoding, 2048, 2048, 1);
        assertThat(new float[] {rows[0], rows[32], rows[64], rows[96]}).as("row 3 stays")
                .containsExactly(4, 4, 2, 2.0625f);
        assertThat(fake.calls("cuStreamBeginCapture_v2")).isEqualTo(1);
        assertThat(fake.kernelCalls("wp_reduce_partials_d32")).isEqualTo(2);
    }

    @Test
    void steps_in_which_nothing_is_cut_have_a_graph_without_the_reduction() {
        var cache = rig.cache(66, 0);
        for (int block = 1; block < 66; block++) {
            rig.fill(cache, block, 2);
        }
        int[] tables = new int[2 * 65];
        Arrays.setAll(tables, i -> i % 65 + 1);
        var batch = new PagedBatch(rig.ints(0, 0), rig.ints(-1, -1), rig.ints(tables), rig.ints(0, 1, 2),
                rig.ints(1, 1), 2, 2, 65);
        var decoding = new Decoding(cache, batch, rig.activations(2, 96, 1), rig.floats(1, 32, new float[32]),
                backend.allocate(DataType.BF16, 2, 32), rig.sampled(1), new Recording());
        for (int step = 0; step < 3; step++) {
            assertThat(decode(decoding, 64, 33)).containsOnly(2);
        }
        assertThat(fake.calls("cuStreamBeginCapture_v2")).isEqualTo(1);
        assertThat(fake.kernelCalls("wp_reduce_partials_d32")).isZero();
        assertThat(decode(decoding, 1040, 33)).containsOnly(2);
        assertThat(decode(decoding, 64, 33)).containsOnly(2);
        assertThat(decode(decoding, 1033, 1024)).containsOnly(2);
        assertThat(fake.calls("cuStreamBeginCapture_v2")).as("one for steps that are cut").isEqualTo(2);
        assertThat(fake.kernelCalls("wp_reduce_partials_d32")).isEqualTo(2);
    }

    @Test
    void operations_of_a_recording_are_told_once_and_again_for_more_rows() {
        Tensor source = rig.activations(4, 8, 1);
        Tensor rows = rig.ints(3, 2, 1, 0);
        Tensor target = backend.allocate(DataType.BF16, 4, 8);
        Tensor small = backend.allocate(DataType.BF16, 2, 8);
        var recording = new Recording();
        int[] told = {0};
        for (int count : new int[] {2, 1, 2, 4, 3, 4}) {
            backend.repeat(recording, rowsOnly(rows, count), () -> {
                told[0]++;
                backend.gatherRows(source, rows, target, count);
            });
            rig.await(backend.submit(rig.sampled(1), 0), 0);
        }
        assertThat(told[0]).as("of 2 rows and of 4").isEqualTo(2);
        assertThat(rig.readFloats(target)).containsOnly(1);

        var other = new Recording();
        backend.repeat(other, rowsOnly(rows, 2), () -> backend.gatherRows(source, rows, small, 2));
        assertThatIllegalArgumentException().isThrownBy(() -> backend.repeat(other, rowsOnly(rows, 3),
                () -> backend.gatherRows(source, rows, small, 3))).withMessageContaining("3 rows asked of a tensor of 2");
        assertThatIllegalStateException().isThrownBy(() -> backend.repeat(other, rowsOnly(rows, 3),
                        () -> backend.gatherRows(source, rows, target, 3)))
                .withMessage("a recording of 1 operations is enqueued with others, 1 of them");
        rig.await(backend.submit(rig.sampled(1), 0), 0);
        assertThat(rig.readFloats(small)).containsOnly(1);
    }

    private static PagedBatch rowsOnly(Tensor any, int rows) {
        return new PagedBatch(any, any, any, any, any, rows, rows, 1);
    }

    @Test
    void two_groups_of_the_cache_attend_by_one_plan_in_one_graph() {
        var cache = rig.cache(8, 0);
        rig.fill(cache, 1, 2);
        rig.fill(cache, 2, 5);
        Tensor query = rig.activations(1, 96, 1);
        Tensor one = backend.allocate(DataType.BF16, 1, 32);
        Tensor two = backend.allocate(DataType.BF16, 1, 32);
        var first = new PagedBatch(rig.ints(15), rig.ints(-1), rig.ints(1), rig.ints(0, 1), rig.ints(16), 1, 1, 1);
        var second = new PagedBatch(first.positions(), rig.ints(-1), rig.ints(2), first.queryStarts(),
                first.contextLengths(), 1, 1, 1);
        var recording = new Recording();
        for (int step = 0; step < 3; step++) {
            rig.write(first.contextLengths(), 16);
            backend.repeat(recording, first, () -> {
                backend.pagedAttention(query, AttentionSpec.plain(32), null, first, cache, 0, one);
                backend.pagedAttention(query, AttentionSpec.plain(32), null, second, cache, 0, two);
            });
            rig.await(backend.submit(rig.sampled(1), 0), 0);
        }
        assertThat(rig.readFloats(one)).containsOnly(2);
        assertThat(rig.readFloats(two)).containsOnly(5);
        assertThat(fake.calls("cuStreamBeginCapture_v2")).isEqualTo(1);
        assertThat(fake.calls("cuGraphLaunch")).isEqualTo(2);
    }

    @Test
    void rows_past_a_replayed_step_store_no_keys_and_values() {
        var cache = rig.cache(4, 0);
        Tensor qkv = rig.activations(4, 96, 3);
        Tensor rotary = rig.floats(1, 32, new float[32]);
        Tensor slots = rig.ints(16, 32, 48, 49);
        Tensor positions = rig.ints(0, 0, 0, 0);
        Tensor starts = rig.ints(0, 1, 2, 3, 4);
        Tensor lengths = rig.ints(1, 1, 1, 1);
        Tensor tables = rig.ints(1, 2, 3, 3);
        var recording = new Recording();
        SampledTokens drawn = rig.sampled(1);
        for (int tokens = 4; tokens >= 3; tokens--) {
            if (tokens == 3) {
                rig.fill(cache, 3, 7);
            }
            var batch = new PagedBatch(positions, slots, tables, starts, lengths, tokens, tokens, 1);
            backend.repeat(recording, batch, () -> backend.rotateAndStoreKv(qkv, rotary, batch, cache, 1));
            rig.await(backend.submit(drawn, 0), 0);
        }
        assertThat(fake.calls("cuStreamBeginCapture_v2")).isEqualTo(1);
        var one = new PagedBatch(rig.ints(1), rig.ints(-1), rig.ints(3), rig.ints(0, 1), rig.ints(2), 1, 1, 1);
        Tensor output = backend.allocate(DataType.BF16, 1, 32);
        backend.pagedAttention(qkv, AttentionSpec.plain(32), null, one, cache, 1, output);
        assertThat(rig.readFloats(output)).as("slot 48 of 3, slot 49 of 7: row 3 did not store").containsOnly(5);
    }

    // ---- failures

    @Test
    void a_launch_that_fails_at_submit_fails_that_step_only() {
        var model = rig.new Successor(300);
        SampledTokens before = rig.sampled(1);
        Completion good = model.submit(before, 1);
        fake.fail("cuLaunchKernel", 3, INVALID_VALUE);
        assertThatExceptionOfType(ComputeException.class).isThrownBy(() -> model.submit(rig.sampled(300), new int[300]))
                .withMessageContaining("cuLaunchKernel");
        Completion next = model.submit(rig.sampled(1), 2);
        assertThat(rig.await(good, 1)).containsExactly(4);
        assertThat(rig.await(next, 1)).containsExactly(5);
    }

    @ParameterizedTest
    @CsvSource({"cuMemcpyHtoDAsync_v2, 1", "cuLaunchKernel, 1", "cuLaunchKernel, 3", "cuLaunchKernel, 6",
        "cuGraphLaunch, 1", "cuMemcpyDtoHAsync_v2, 1", "cuEventRecord, 1", "cuEventRecord, 2"})
    void whatever_fails_when_a_decode_step_is_submitted_the_next_step_is_right(String function, int nth) {
        var model = rig.new Successor(2);
        SampledTokens drawn = rig.sampled(1);
        if (function.equals("cuGraphLaunch")) {
            rig.await(model.submit(drawn, 0), 1);                              // there is a graph from now on
        }
        Completion good = model.submit(rig.sampled(2), 4, 4);
        fake.fail(function, nth, INVALID_VALUE);
        assertThatExceptionOfType(ComputeException.class).isThrownBy(() -> model.submit(drawn, 1))
                .withMessageContaining(function);
        Completion next = model.submit(drawn, 2);
        assertThat(rig.await(good, 2)).containsExactly(7, 7);
        assertThat(rig.await(next, 1)).containsExactly(5);
        for (int step = 0; step < 10; step++) {
            assertThat(rig.await(model.submit(drawn, step % 8), 1)).containsExactly((step + 3) % 8);
        }
        assertThat(fake.live("graph")).isZero();
    }

    @ParameterizedTest
    @CsvSource({"cuStreamBeginCapture_v2, 1", "cuStreamEndCapture, 1", "cuGraphInstantiateWithFlags, 1",
        "cuLaunchKernel, 4", "cuLaunchKernel, 5"})
    void what_cannot_be_captured_is_launched_kernel_by_kernel_without_trying_again_at_once(String function, int nth) {
        var model = rig.new Successor(2);
        SampledTokens drawn = rig.sampled(1);
        rig.readInts(model.tokens);
        for (int step = 0; step < 5; step++) {
            if (!function.equals("cuLaunchKernel") || step == 0) {
                fake.fail(function, nth, INVALID_VALUE);                       // for ever, if it is called
            }
            assertThat(rig.await(model.submit(drawn, step), 1)).containsExactly((step + 3) % 8);
        }
        assertThat(fake.calls("cuStreamBeginCapture_v2")).isEqualTo(1);
        assertThat(fake.calls("cuGraphLaunch")).isZero();
        assertThat(fake.live("graph")).isZero();
        assertThat(fake.live("graphExec")).isZero();
    }

    @Test
    void once_four_steps_cannot_be_captured_no_other_is_tried_for_4096_and_what_is_captured_is_replayed_as_before() {
        var model = rig.new Successor(32);
        assertThat(rig.await(model.submit(rig.sampled(1), 1), 1)).containsExactly(4);
        for (int rows : new int[] {2, 4, 8, 16, 24, 32}) {
            if (rows <= 16) {
                fake.fail("cuGraphInstantiateWithFlags", 1, OUT_OF_MEMORY);
            }
            assertThat(rig.await(model.submit(rig.sampled(rows), new int[rows]), rows)).containsOnly(3);
        }
        assertThat(fake.calls("cuStreamBeginCapture_v2")).as("1, then 2, 4, 8 and 16 rows").isEqualTo(5);
        assertThat(rig.await(model.submit(rig.sampled(1), 2), 1)).containsExactly(5);
        assertThat(fake.calls("cuGraphLaunch")).isEqualTo(1);
        assertThat(rig.backend.refusedGraphs()).isEqualTo(4);

        for (int step = 0; step < StepGraphs.STEPS_OF_REFUSAL; step++) {
            rig.await(model.submit(rig.sampled(1), 2), 1);
        }
        for (int step = 0; step < 2; step++) {
            assertThat(rig.await(model.submit(rig.sampled(32), new int[32]), 32)).containsOnly(3);
        }
        assertThat(fake.calls("cuStreamBeginCapture_v2")).as("tried again later").isEqualTo(6);
        assertThat(fake.calls("cuGraphLaunch")).isEqualTo(1 + StepGraphs.STEPS_OF_REFUSAL + 1);
    }

    @Test
    void a_graph_that_does_not_launch_fails_one_step_and_is_not_used_again() {
        var model = rig.new Successor(1);
        SampledTokens drawn = rig.sampled(1);
        rig.await(model.submit(drawn, 0), 1);
        fake.fail("cuGraphLaunch", 1, OUT_OF_MEMORY);
        assertThatExceptionOfType(ComputeException.class).isThrownBy(() -> model.submit(drawn, 1));
        fake.fail("cuGraphLaunch", 1, OUT_OF_MEMORY);
        assertThat(rig.await(model.submit(drawn, 2), 1)).containsExactly(5);
        assertThat(fake.live("graphExec")).isZero();
    }

    @Test
    void steps_that_fail_on_their_way_back_leave_no_pinned_memory_behind() {
        var model = rig.new Successor(2);
        SampledTokens drawn = rig.sampled(2);
        assertThat(rig.await(model.submit(drawn, 0, 1), 2)).containsExactly(3, 4);
        int pinned = fake.live("pinned");
        int events = fake.live("event");
        for (int step = 0; step < 5; step++) {
            fake.fail("cuMemcpyDtoHAsync_v2", 2, INVALID_VALUE);               // tokens are on their way, logprobs not
            assertThatExceptionOfType(ComputeException.class).isThrownBy(() -> model.submit(drawn, 0, 1));
            Completion completion = model.submit(drawn, 2, 3);
            fake.fail("cuEventSynchronize", 1, INVALID_VALUE);
            assertThatExceptionOfType(ComputeException.class).isThrownBy(() -> rig.await(completion, 2));
        }
        assertThat(rig.await(model.submit(drawn, 4, 5), 2)).containsExactly(7, 0);
        assertThat(fake.live("pinned")).isEqualTo(pinned);
        assertThat(fake.live("event")).isEqualTo(events);
    }

    @Test
    void a_refused_submit_ends_its_step_and_nothing_of_it_runs_with_the_next() {
        var model = rig.new Successor(1);
        SampledTokens drawn = rig.sampled(1);
        Completion first = model.submit(drawn, 1);
        assertThatIllegalStateException().isThrownBy(() -> model.submit(drawn, 5));
        assertThatIllegalArgumentException().isThrownBy(() -> {
            model.compute(drawn, 1);
            backend.submit(drawn, 2);
        });
        assertThat(rig.await(first, 1)).containsExactly(4);
        assertThat(rig.readInts(drawn.tokens())).as("not the successor of 5").containsExactly(4);
        assertThat(rig.await(backend.submit(drawn, 1), 1)).containsExactly(4);
    }

    @Test
    void a_refused_operation_ends_its_step_but_what_was_written_before_stays_written() {
        var model = rig.new Successor(1);
        SampledTokens drawn = rig.sampled(1);
        assertThat(rig.await(model.submit(drawn, 0), 1)).containsExactly(3);
        float[] before = rig.readFloats(model.hidden);
        Tensor tooWide = rig.activations(1, 16, 0);
        rig.write(model.tokens, 5);
        backend.embed(model.tokens, model.table, model.hidden, 1);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> backend.matmul(model.hidden, model.head, tooWide, 1));
        assertThat(rig.readFloats(model.hidden)).containsExactly(before);
        assertThat(rig.readInts(model.tokens)).containsExactly(5);
        int launched = fake.calls("cuGraphLaunch");
        assertThat(rig.await(model.submit(drawn, 2), 1)).containsExactly(5);
        assertThat(fake.calls("cuGraphLaunch")).as("the step is what it was before").isEqualTo(launched + 1);
    }

    @Test
    void attention_over_lengths_that_cannot_be_ends_the_step_before_it_stores_anything() {
        var cache = rig.cache(4, 0);
        rig.fill(cache, 1, 3);
        Tensor qkv = rig.activations(1, 96, 7);
        Tensor rotary = rig.floats(1, 32, new float[32]);
        Tensor output = backend.allocate(DataType.BF16, 1, 32);
        var batch = new PagedBatch(rig.ints(0), rig.ints(16), rig.ints(1), rig.ints(0, 1), rig.ints(-1), 1, 1, 1);
        backend.rotateAndStoreKv(qkv, rotary, batch, cache, 1);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> backend.pagedAttention(qkv, AttentionSpec.plain(32), null, batch, cache, 1, output));
        assertThat(rig.seen(cache, 1)).isEqualTo(3);
    }

    @Test
    void unusable_logits_are_their_rows_own_and_feed_token_0_to_the_next() {
        var model = rig.new Successor(2);
        SampledTokens bad = rig.sampled(2);
        SampledTokens fed = rig.sampled(2);
        backend.sample(rig.floats(2, 8, 1, 0, 0, 0, 0, 0, 0, 0, Float.NaN, 0, 0, 0, 0, 0, 0, 0), model.greedy, bad, 2);
        Completion failing = backend.submit(bad, 2);
        backend.feedTokens(bad, rig.ints(1, 0), model.tokens, 2);
        model.compute(fed, 2);
        Completion next = backend.submit(fed, 2);
        assertThat(rig.await(failing, 2)).containsExactly(0, SampledTokens.NO_TOKEN);
        assertThat(rig.await(next, 2)).containsExactly(3, 3);
    }

    @Test
    void a_lost_device_says_so_at_await_and_ever_after_and_is_closed_quietly() {
        var model = rig.new Successor(1);
        Completion step = model.submit(rig.sampled(1), 1);
        fake.fail("cuEventSynchronize", 1, LAUNCH_FAILED);
        assertThatExceptionOfType(DeviceLostException.class).isThrownBy(() -> rig.await(step, 1))
                .withMessageContaining("cuEventSynchronize");
        assertThatExceptionOfType(DeviceLostException.class).isThrownBy(() -> model.submit(rig.sampled(1), 1));
        assertThatExceptionOfType(DeviceLostException.class).isThrownBy(() -> rig.readInts(model.tokens));
        backend.close();
    }

    @Test
    void sizes_without_kernels_and_strangers_handles_are_refused_at_the_call() {
        assertThatIllegalArgumentException().isThrownBy(() -> backend.allocate(DataType.BF16, 4, 12))
                .withMessage("rows have 12 elements, kernels take multiples of 8: use warmpath.compute.backend=vector");
        assertThatIllegalArgumentException().isThrownBy(() -> backend.allocateWeight(8, 7));
        Tensor activations = rig.activations(1, 8, 1);
        try (var other = new dev.warmpath.worker.compute.cpu.ScalarBackend()) {
            Tensor strange = other.allocate(DataType.I32, 1, 1);
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> backend.gatherRows(activations, strange, activations, 1))
                    .withMessage("not a plain tensor of this backend: CpuTensor");
        }
        Tensor logits = backend.allocate(DataType.F32, 1, 8);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> backend.embed(rig.ints(1), backend.allocateWeight(8, 8), logits, 1))
                .withMessage("tensor is F32, takes BF16");
    }

    @Test
    void preparing_a_replayed_step_allocates_little() {
        var model = rig.new Successor(4);
        SampledTokens drawn = rig.sampled(4);
        var values = rig.arena.allocateFrom(ValueLayout.JAVA_INT, 1, 2, 3, 4);
        var threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        int thriftySteps = 0;
        for (int step = 0; step < 400; step++) {
            long before = threads.getCurrentThreadAllocatedBytes();
            backend.write(model.tokens, values);
            model.compute(drawn, 4);
            Completion completion = backend.submit(drawn, 4);
            long allocated = threads.getCurrentThreadAllocatedBytes() - before;
            rig.await(completion, 4);
            thriftySteps += allocated < 8 << 10 ? 1 : 0;
        }
        assertThat(thriftySteps).as("of 400; the compiler may still be at work in others").isPositive();
    }
}
