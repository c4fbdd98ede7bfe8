package dev.warmpath.worker.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.warmpath.worker.compute.LogitAdjustments;
import dev.warmpath.worker.compute.Sampling;
import dev.warmpath.worker.compute.Tensor;
import dev.warmpath.worker.compute.cpu.ScalarBackend;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class InputBatchTest {

    private final InputBatch batch =
            new InputBatch(/* tokens */ 6, /* sequences */ 2, /* blocks */ 3, /* blockSize */ 2);

    private static int[] ints(MemorySegment segment) {
        return segment.toArray(ValueLayout.JAVA_INT);
    }

    @Test
    void two_sequences_lie_one_after_the_other_with_their_slots() {
        batch.add(new int[] {10, 11, 12, 13, 14}, 2, 3, new int[] {7, 4, 9}, 3, new Sampling(-5, 0.5f, 3, 0.9f, true));
        batch.add(new int[] {20, 21}, 0, 2, new int[] {5, 0, 0}, 1, null);
        assertThat(batch.tokenCount()).isEqualTo(5);
        assertThat(batch.sequenceCount()).isEqualTo(2);
        assertThat(batch.sampledCount()).isEqualTo(1);
        assertThat(ints(batch.tokens())).containsExactly(12, 13, 14, 20, 21);
        assertThat(ints(batch.positions())).containsExactly(2, 3, 4, 0, 1);
        assertThat(ints(batch.slots(0))).containsExactly(8, 9, 18, 10, 11);
        assertThat(ints(batch.blockTables(0))).startsWith(7, 4, 9, 5);
        assertThat(ints(batch.queryStarts())).containsExactly(0, 3, 5);
        assertThat(ints(batch.contextLengths())).containsExactly(5, 2);
        assertThat(ints(batch.sampledRows())).containsExactly(2);
        assertThat(ints(batch.counters())).as("index of the drawn token").containsExactly(5);
        assertThat(batch.seeds().get(ValueLayout.JAVA_LONG, 0)).isEqualTo(-5);
        assertThat(ints(batch.topKs())).containsExactly(3);
        assertThat(ints(batch.logprobs())).containsExactly(1);
    }

    @Test
    void adjustments_of_logits_lie_one_row_behind_the_other_and_have_a_bound() {
        var rows = new InputBatch(6, 3, 3, 2, 2, List.of(0), /* maxEntries */ 4);
        var backend = new ScalarBackend();
        rows.add(new int[] {10}, 0, 1, new int[] {7}, 1, Sampling.greedy());
        rows.adjust(new RowAdjustment(2, 0.5f, 0.25f, -1, true), 1);
        rows.addEntries(new int[] {3, 4}, new float[] {1, -1}, new int[] {5, 2}, 2);
        rows.ban(9, LogitAdjustments.BAN);
        rows.add(new int[] {11}, 0, 1, new int[] {8}, 1, Sampling.greedy());
        rows.add(new int[] {12}, 0, 1, new int[] {9}, 1, Sampling.greedy());
        rows.adjust(new RowAdjustment(1, 0, 0, Float.NEGATIVE_INFINITY, false), -1);
        rows.addFreeEntry();
        assertThat(rows.isAdjusted()).isTrue();
        assertThatIllegalStateException().isThrownBy(() -> rows.ban(1, LogitAdjustments.BAN))
                .withMessage("batch has 4 adjustments of logits, takes 4: no room for 1");

        LogitAdjustments written = new StepInputs(backend, 1, 6, 3, 3, 4).adjustments;
        rows.writeAdjustments(backend, written);
        assertThat(read(backend, written.modes(), 3)).containsExactly(
                LogitAdjustments.ALLOWED_ONLY, LogitAdjustments.PLAIN, LogitAdjustments.ADJUSTED);
        assertThat(read(backend, written.starts(), 4)).containsExactly(0, 3, 3, 4);
        assertThat(read(backend, written.ids(), 4)).containsExactly(3, 4, 9, LogitAdjustments.NO_ID);
        assertThat(read(backend, written.notes(), 4)).containsExactly(5, 2, LogitAdjustments.BAN, 0);
        assertThat(read(backend, written.sources(), 1)).containsExactly(1);
        rows.clear();
        assertThat(rows.isAdjusted()).isFalse();
    }

    private static int[] read(ScalarBackend backend, Tensor tensor, int rowCount) {
        MemorySegment values = MemorySegment.ofArray(new int[rowCount * tensor.columns()]);
        backend.read(tensor, rowCount, values);
        return values.toArray(ValueLayout.JAVA_INT);
    }

    @Test
    @DisplayName("K38: slots of blocks of 16")
    void a_slot_is_the_block_id_times_the_block_size_and_the_offset() {
        int[] table = {7, 3, 12};
        int[] tokens = new int[48];
        var one = new InputBatch(4, 4, 3, 16);
        for (int position : new int[] {0, 15, 16, 47}) {
            one.add(tokens, position, 1, table, 3, null);
        }
        assertThat(ints(one.slots(0))).containsExactly(112, 127, 48, 207);
    }

    @Test
    @DisplayName("K38: blocks of 32 on kernels of 16")
    void smaller_blocks_of_the_device_change_the_table_and_no_slot() {
        var kernels = new InputBatch(2, 2, 2, /* blockSize */ 32, /* kernelBlockSize */ 16, List.of(0));
        var whole = new InputBatch(2, 2, 2, 32);
        for (var batch : new InputBatch[] {kernels, whole}) {
            batch.add(new int[41], 40, 1, new int[] {2, 5}, 2, null);
            batch.add(new int[33], 0, 1, new int[] {9}, 1, null);
            // position 40 is the ninth of block 5: 5 * 32 + 8
            assertThat(ints(batch.slots(0))).containsExactly(168, 288);
            assertThat(batch.blockSize()).isEqualTo(32);
        }
        assertThat(ints(kernels.blockTables(0))).startsWith(4, 5, 10, 11, 18, 19).hasSize(8);
        assertThat(kernels.blockTableStride()).as("as many as there can be").isEqualTo(4);
        assertThat(kernels.largestBlock()).isEqualTo(9);
        assertThat(ints(whole.blockTables(0))).startsWith(2, 5, 9);
        assertThatIllegalArgumentException().isThrownBy(() -> new InputBatch(2, 2, 2, 32, 12, List.of(0)))
                .withMessage("kernel block size 12 does not divide block size 32");
    }

    @Test
    void block_tables_are_as_wide_as_the_longest_context_of_the_batch_wants_in_powers_of_two() {
        var wide = new InputBatch(4, 4, /* blocks */ 100, /* blockSize */ 4, /* kernelBlockSize */ 2, List.of(0));
        int[] table = new int[100];
        Arrays.setAll(table, block -> block + 1);
        wide.add(new int[400], 0, 1, table, 100, null);
        assertThat(ints(wide.blockTables(0))).as("of 100 blocks the context wants 1").startsWith(2, 3).hasSize(16);
        wide.add(new int[400], 31, 1, table, 8, null);
        assertThat(wide.blockTableStride()).as("8 blocks of 2 each").isEqualTo(16);

        wide.add(new int[400], 67, 1, table, 17, null);
        assertThat(wide.blockTableStride()).as("17 blocks of 2 each, rounded up").isEqualTo(64);
        int[] rows = ints(wide.blockTables(0));
        assertThat(rows).hasSize(3 * 64).startsWith(2, 3);
        assertThat(Arrays.copyOfRange(rows, 64, 80)).containsExactly(2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
                17);
        assertThat(rows[128]).isEqualTo(2);
        assertThat(rows[161]).isEqualTo(35);

        wide.addFed(0, 399, table, 100, null);
        assertThat(wide.blockTableStride()).as("never more than there can be").isEqualTo(200);
        assertThat(ints(wide.blockTables(0))).hasSize(800).endsWith(200, 201);
        assertThat(ints(wide.blockTables(0))[400 + 33]).isEqualTo(35);
        wide.clear();
        assertThat(wide.blockTableStride()).isEqualTo(16);
    }

    @Test
    void a_fed_token_stands_like_a_known_one_and_names_the_row_that_draws_it() {
        batch.add(new int[] {10, 11}, 0, 2, new int[] {7}, 1, null);
        assertThat(batch.isFed()).isFalse();
        batch.addFed(/* sourceRow */ 3, /* position */ 4, new int[] {5, 6, 9}, 3, Sampling.greedy());
        assertThat(batch.isFed()).isTrue();
        assertThat(batch.largestSource()).isEqualTo(3);
        assertThat(ints(batch.sources())).containsExactly(-1, -1, 3);
        assertThat(ints(batch.positions())).containsExactly(0, 1, 4);
        assertThat(ints(batch.slots(0))).containsExactly(14, 15, 18);
        assertThat(ints(batch.queryStarts())).containsExactly(0, 2, 3);
        assertThat(ints(batch.contextLengths())).containsExactly(2, 5);
        assertThat(ints(batch.sampledRows())).containsExactly(2);
        assertThat(ints(batch.counters())).containsExactly(5);
        batch.clear();
        assertThat(batch.isFed()).isFalse();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> batch.addFed(-1, 0, new int[] {5}, 1, null)).withMessage("no step draws a row -1");
        assertThatIllegalArgumentException().isThrownBy(() -> batch.addFed(0, 2, new int[] {5}, 1, null));
        assertThatIllegalArgumentException().isThrownBy(() -> batch.addFed(0, 0, new int[] {0}, 1, null));
        assertThat(batch.sequenceCount() + batch.tokenCount()).isZero();
    }

    @Test
    void prompt_rows_go_in_portions_that_begin_where_indexes_may_be_read_from() {
        int[] places = IntStream.range(0, 7).map(index -> InputBatch.promptRowPlace(index, 3)).toArray();
        assertThat(places).containsExactly(0, 1, 2, 4, 5, 6, 8);
        assertThat(InputBatch.promptRowPlaces(7, 3)).isEqualTo(9);
        assertThat(InputBatch.promptRowPlaces(3, 1)).isEqualTo(9);
    }

    @Test
    void only_tokens_whose_predecessor_was_added_last_are_scored() {
        int[] tokens = {10, 11, 12, 13, 14};
        batch.add(tokens, 1, 3, new int[] {1, 2, 3}, 3, Sampling.greedy());
        assertThatIllegalArgumentException().isThrownBy(() -> batch.scorePrompt(tokens, 1, 1, 0))
                .withMessage("1 tokens from position 1 on are not computed from positions 1 to 3");
        assertThatIllegalArgumentException().isThrownBy(() -> batch.scorePrompt(tokens, 2, 4, 0));
        assertThatIllegalArgumentException().isThrownBy(() -> batch.scorePrompt(tokens, 2, 1, 21))
                .withMessage("the 21 likeliest tokens, at most 20 are told");
        assertThat(batch.isScored()).isFalse();
        assertThat(batch.scoredCount()).isZero();

        batch.scorePrompt(tokens, 2, 3, 5);

        assertThat(batch.promptRowCount()).isEqualTo(3);
        assertThat(batch.scoredCount()).as("behind the drawn row").isEqualTo(4);
        assertThat(batch.largestToken()).isEqualTo(14);
        assertThat(batch.tellsLikeliest()).isFalse();
    }

    @Test
    void clear_makes_room_again() {
        batch.add(new int[6], 0, 6, new int[] {1, 2, 3}, 3, Sampling.greedy());
        assertThatIllegalStateException().isThrownBy(() -> batch.add(new int[1], 0, 1, new int[] {4}, 1, null))
                .withMessage("batch has 1 sequences and 6 tokens, takes 2 and 6: no room for 1 tokens");
        batch.clear();
        assertThat(batch.tokenCount() + batch.sequenceCount() + batch.sampledCount()).isZero();
        batch.add(new int[1], 0, 1, new int[] {4}, 1, null);
        assertThat(ints(batch.slots(0))).containsExactly(8);
    }

    @Test
    void tokens_outside_the_blocks_and_the_null_block_are_refused() {
        assertThatIllegalArgumentException().isThrownBy(() -> batch.add(new int[3], 0, 3, new int[] {1, 2}, 1, null))
                .withMessage("3 tokens from position 0 do not lie in 1 blocks of 2 (at most 3 blocks)");
        assertThatIllegalArgumentException().isThrownBy(() -> batch.add(new int[3], 0, 0, new int[] {1}, 1, null));
        assertThatIllegalArgumentException().isThrownBy(() -> batch.add(new int[1], 0, 1, new int[] {0}, 1, null))
                .withMessage("block 0 is no place for keys and values");
        assertThat(batch.tokenCount()).isZero();
    }
}
