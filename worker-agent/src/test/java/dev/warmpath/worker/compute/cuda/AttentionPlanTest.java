package dev.warmpath.worker.compute.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import com.sun.management.ThreadMXBean;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AttentionPlanTest {

    /** Of an H200; 2 thread blocks each make a wave of 264. */
    private static final int MULTIPROCESSORS = 132;

    private final AttentionPlan plan = new AttentionPlan(MULTIPROCESSORS);

    private record Work(int sequence, int row, int firstBlock, int tokenCount, int partial, int rows, int later,
            int stride) {

        /** Of one row and a whole context. */
        Work(int sequence, int row, int firstBlock, int tokenCount, int partial) {
            this(sequence, row, firstBlock, tokenCount, partial, 1, 0, 1);
        }

        int blockCount() {
            return Math.ceilDiv(tokenCount, 16);
        }
    }

    private record Reduce(int row, int firstPartial, int partialCount) {}

    private record Tile(int sequence, int firstRow, int firstPosition, int rowCount) {}

    private List<Work> works() {
        int[] ints = plan.decode().toArray(ValueLayout.JAVA_INT);
        List<Work> works = new ArrayList<>();
        for (int at = 4; at < 4 + 8 * ints[0]; at += 8) {
            works.add(new Work(ints[at], ints[at + 1], ints[at + 2], ints[at + 3], ints[at + 4], ints[at + 5],
                    ints[at + 6], ints[at + 7]));
        }
        return works;
    }

    private List<Reduce> reduces() {
        int[] ints = plan.decode().toArray(ValueLayout.JAVA_INT);
        List<Reduce> reduces = new ArrayList<>();
        for (int at = ints[2]; at < ints[2] + 4 * ints[1]; at += 4) {
            reduces.add(new Reduce(ints[at], ints[at + 1], ints[at + 2]));
        }
        return reduces;
    }

    private List<Tile> tiles() {
        int[] ints = plan.tiles().toArray(ValueLayout.JAVA_INT);
        List<Tile> tiles = new ArrayList<>();
        for (int at = 0; at < ints.length; at += 4) {
            tiles.add(new Tile(ints[at], ints[at + 1], ints[at + 2], ints[at + 3]));
        }
        return tiles;
    }

    private void decode(int kvHeads, int... contextLengths) {
        plan.arrange(starts(Math.max(1, contextLengths.length), 1), contextLengths, contextLengths.length, kvHeads, /* group */ 4);
    }

    private static int[] starts(int sequences, int tokens) {
        int[] starts = new int[sequences + 1];
        Arrays.setAll(starts, sequence -> sequence * tokens);
        return starts;
    }

    private static int[] repeated(int count, int length) {
        int[] lengths = new int[count];
        Arrays.fill(lengths, length);
        return lengths;
    }

    /** Batch, tokens, KV heads; expected: items, longest piece in blocks. */
    @ParameterizedTest
    @CsvSource({
        "64, 4096, 8, 64, 256",        // 512 of 2 · 264 thread blocks: nothing to gain
        "1, 32768, 8, 33, 63",         // 33 · 8 = 264: one full wave
        "64, 512, 8, 64, 32",
        "1, 4096, 8, 32, 8",
        "1, 64, 8, 1, 4",              // a piece has 4 blocks at least
        "8, 32768, 8, 32, 512",        // 32 · 8 = 256
        "1, 131072, 2, 131, 63",       // 131 · 2 of 264
        "256, 1024, 8, 256, 64",
    })
    void pieces_fill_whole_waves_of_the_card(int batch, int tokens, int kvHeads, int items, int longestPiece) {
        decode(kvHeads, repeated(batch, tokens));
        assertThat(plan.workCount()).isEqualTo(items);
        assertThat(works().getFirst().blockCount()).isEqualTo(longestPiece);
    }

    /** The busiest place on the card, when each thread block goes to the place that is free first. */
    private double balance(int kvHeads) {
        long[] busy = new long[2 * MULTIPROCESSORS];
        long total = 0;
        for (Work work : works()) {
            for (int head = 0; head < kvHeads; head++) {
                Arrays.sort(busy);
                busy[0] += work.blockCount();
                total += work.blockCount();
            }
        }
        Arrays.sort(busy);
        return (double) total / busy.length / busy[busy.length - 1];
    }

    private static int[] ragged() {
        int[] lengths = new int[64];
        var random = new SplittableRandom(7);
        Arrays.setAll(lengths, _ -> random.nextInt(128, 8193));
        return lengths;
    }

    @Test
    void the_cards_places_are_busy_for_nearly_all_of_the_time_with_the_issues_shapes() {
        decode(8, repeated(64, 4096));
        assertThat(balance(8)).isGreaterThan(0.96);
        decode(8, 32768);
        assertThat(balance(8)).isGreaterThan(0.98);
        decode(8, repeated(64, 512));
        assertThat(balance(8)).isGreaterThan(0.96);
        decode(8, ragged());
        assertThat(balance(8)).isGreaterThan(0.9);
        assertThat(plan.reduceCount()).isPositive();
    }

    @Test
    void longest_work_comes_first() {
        decode(8, 16, 96, 40, 0, 1);
        assertThat(works()).containsExactly(new Work(1, 1, 0, 96, -1), new Work(2, 2, 0, 40, -1),
                new Work(0, 0, 0, 16, -1), new Work(4, 4, 0, 1, -1), new Work(3, 3, 0, 0, -1));
        assertThat(reduces()).isEmpty();
    }

    @Test
    void every_block_of_every_sequence_is_computed_once_and_partials_are_dense() {
        var random = new SplittableRandom(3);
        for (int run = 0; run < 200; run++) {
            int kvHeads = random.nextInt(1, 17);
            int sequences = random.nextInt(1, 300);
            int longest = 1 << random.nextInt(18);
            int[] lengths = new int[sequences];
            Arrays.setAll(lengths, _ -> random.nextInt(longest + 1));
            decode(kvHeads, lengths);
            checkDecode(lengths, kvHeads);
        }
    }

    private void checkDecode(int[] lengths, int kvHeads) {
        int[] covered = new int[lengths.length];
        int[] tokens = new int[lengths.length];
        List<Integer> partials = new ArrayList<>();
        for (Work work : works()) {
            assertThat(work.row()).isEqualTo(work.sequence());
            assertThat(work.firstBlock()).as("pieces of a sequence follow each other")
                    .isEqualTo(covered[work.sequence()]);
            covered[work.sequence()] += work.blockCount();
            tokens[work.sequence()] += work.tokenCount();
            if (work.partial() >= 0) {
                partials.add(work.partial());
            } else {
                assertThat(work.tokenCount()).isEqualTo(lengths[work.sequence()]);
            }
        }
        assertThat(tokens).isEqualTo(lengths);
        checkReduces(partials);
        assertThat(plan.workGrid(lengths.length, kvHeads))
                .isBetween(plan.workCount(), plan.workCapacity(lengths.length, kvHeads));
        assertThat(plan.reduceCount()).isLessThanOrEqualTo(plan.reduceGrid(lengths.length, kvHeads));
        assertThat(plan.partialCount()).isLessThanOrEqualTo(plan.partialCapacity(kvHeads));
        assertThat(plan.decode().byteSize()).isLessThanOrEqualTo(plan.decodeBytes(lengths.length, kvHeads));
    }

    private void checkReduces(List<Integer> partials) {
        assertThat(partials).hasSize(plan.partialCount());
        int next = 0;
        List<Work> works = works();
        for (Reduce reduce : reduces()) {
            assertThat(reduce.firstPartial()).isEqualTo(next);
            assertThat(reduce.partialCount()).isGreaterThanOrEqualTo(2);
            for (int i = 0; i < reduce.partialCount(); i++) {
                int partial = next++;
                assertThat(works).anyMatch(work -> work.partial() == partial && work.row() == reduce.row());
            }
        }
        assertThat(next).isEqualTo(partials.size());
    }

    /** Bucket, sequences, tokens, KV heads; expected of the graph: work items, reduce items. */
    @ParameterizedTest
    @CsvSource({
        "1, 1, 64, 8, 1, 0",
        "64, 64, 512, 8, 64, 0",
        "72, 65, 512, 8, 72, 0",       // room for the bucket, not for pieces
        "1, 1, 32768, 8, 33, 1",       // 264 thread blocks, as many as there are pieces
        "8, 8, 32768, 8, 33, 8",
        "8, 7, 32768, 8, 140, 8",      // two waves: room for all cuts, 8 + 4 · 264 / 8
        "1, 1, 131072, 2, 132, 1",
    })
    void graphs_have_as_many_thread_blocks_as_steps_of_their_kind(int bucket, int batch, int tokens, int kvHeads,
            int workItems, int reduceItems) {
        decode(kvHeads, repeated(batch, tokens));
        assertThat(plan.workGrid(bucket, kvHeads)).isEqualTo(workItems);
        assertThat(plan.reduceGrid(bucket, kvHeads)).isEqualTo(reduceItems);
    }

    @Test
    void graphs_of_steps_that_take_several_waves_have_room_for_all_cuts() {
        decode(8, ragged());
        assertThat(plan.workCount()).isGreaterThan(33);
        assertThat(plan.workGrid(64, 8)).isEqualTo(196);           // 64 + 4 · 264 / 8
        assertThat(plan.reduceGrid(64, 8)).isEqualTo(64);
    }

    @Test
    void prompts_are_cut_into_tiles_of_128_rows_longest_context_first_beside_sequences_that_decode() {
        // sequence 0: 300 new on 1,000 cached; 1: one token; 2: two new on nothing; 3: no token; 4: 128 new on 2,000
        plan.arrange(new int[] {0, 300, 301, 303, 303, 431}, new int[] {1300, 50, 2, 9, 2128}, 5, 8, 4);
        assertThat(tiles()).containsExactly(new Tile(4, 303, 2000, 128), new Tile(0, 256, 1256, 44),
                new Tile(0, 128, 1128, 128), new Tile(0, 0, 1000, 128), new Tile(2, 301, 0, 2));
        assertThat(works()).containsExactly(new Work(1, 300, 0, 50, -1));
        assertThat(plan.decodeCount()).isEqualTo(1);
    }

    /** Tokens, context, query heads of one of 8 KV heads; expected: items, longest piece in blocks, tiles. */
    @ParameterizedTest
    @CsvSource({
        "30, 8030, 4, 32, 126, 0",         // 8 runs of 4 tokens, cut into 4 pieces each: 256 of 264 thread blocks
        "30, 32030, 4, 32, 501, 0",
        "30, 8030, 1, 32, 32, 0",          // 2 runs of 16 tokens and 14
        "30, 8030, 16, 30, 502, 0",        // 30 runs of a token: 240 of 264, nothing to gain
        "64, 8064, 4, 32, 252, 0",
        "65, 8065, 4, 0, 0, 1",            // too many: tiles read the context less often
        "30, 200, 4, 0, 0, 1",             // too little behind it
    })
    void a_short_suffix_behind_a_long_context_fills_the_card(int tokens, int context, int group, int items,
            int longestPiece, int tiles) {
        plan.arrange(new int[] {0, tokens}, new int[] {context}, 1, 8, group);
        assertThat(plan.workCount()).isEqualTo(items);
        assertThat(items == 0 ? 0 : works().getFirst().blockCount()).isEqualTo(longestPiece);
        assertThat(plan.tileCount()).isEqualTo(tiles);
        assertThat(plan.decodeCount()).as("it is no step to be replayed").isZero();
    }

    @Test
    void suffixes_whose_tiles_fill_half_the_card_are_tiled() {
        int[] contexts = repeated(5, 8_030);
        plan.arrange(starts(4, 30), contexts, 4, 8, 4);
        assertThat(plan.tileCount()).isZero();
        plan.arrange(starts(5, 30), contexts, 5, 8, 4);            // 5 tiles for each of 32 heads: 160 of 264
        assertThat(plan.tileCount()).isEqualTo(5);
    }

    @Test
    void every_row_of_a_suffix_sees_each_position_up_to_its_own_once() {
        var random = new SplittableRandom(5);
        for (int round = 0; round < 300; round++) {
            int group = random.nextInt(1, 17);
            int kvHeads = random.nextInt(1, 5);
            int sequences = random.nextInt(1, 5);
            int[] starts = new int[sequences + 1];
            int[] contexts = new int[sequences];
            for (int i = 0; i < sequences; i++) {
                int tokens = random.nextInt(0, 70);
                starts[i + 1] = starts[i] + tokens;
                contexts[i] = tokens + random.nextInt(1 << random.nextInt(15));
            }
            plan.arrange(starts, contexts, sequences, kvHeads, group);
            checkRows(starts, contexts, kvHeads);
            assertThat(works()).allMatch(work -> work.rows() * group <= 16);
        }
    }

    private void checkRows(int[] starts, int[] contexts, int kvHeads) {
        int[] seen = new int[starts[contexts.length]];
        List<int[]> partials = new ArrayList<>();
        for (Work work : works()) {
            for (int row = 0; row < work.rows(); row++) {
                int hidden = Math.max(0, work.rows() - 1 - row - work.later());
                seen[work.row() + row] += Math.max(0, work.tokenCount() - hidden);
                if (work.partial() >= 0) {
                    partials.add(new int[] {work.partial() + row * work.stride(), work.row() + row});
                }
            }
        }
        for (Tile tile : tiles()) {
            for (int row = 0; row < tile.rowCount(); row++) {
                seen[tile.firstRow() + row] += tile.firstPosition() + row + 1;
            }
        }
        for (int sequence = 0; sequence < contexts.length; sequence++) {
            for (int row = starts[sequence]; row < starts[sequence + 1]; row++) {
                assertThat(seen[row]).isEqualTo(contexts[sequence] - (starts[sequence + 1] - 1 - row));
            }
        }
        partials.sort(Comparator.comparingInt(partial -> partial[0]));
        int next = 0;
        for (Reduce reduce : reduces()) {
            for (int i = 0; i < reduce.partialCount(); i++) {
                assertThat(partials.get(next)).containsExactly(next++, reduce.row());
            }
            assertThat(next).isEqualTo(reduce.firstPartial() + reduce.partialCount());
        }
        assertThat(next).isEqualTo(partials.size()).isEqualTo(plan.partialCount())
                .isLessThanOrEqualTo(plan.partialCapacity(kvHeads) * 16);
    }

    @Test
    void contexts_that_cannot_be_are_refused() {
        assertThatIllegalArgumentException().isThrownBy(() -> plan.arrange(new int[] {0, 3}, new int[] {2}, 1, 8, 4))
                .withMessage("sequence 0 has 3 tokens in a context of 2 positions");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> plan.arrange(starts(8_193, 1), new int[8_193], 8_193, 8, 4))
                .withMessage("a step of 8193 sequences, takes 8192");
    }

    /**
     * All rounds do the same. What the virtual machine allocates for itself, when it links, makes one of them louder,
     * never quieter; nothing is warmed up, so that silence does not come from a compiler that removes objects.
     */
    @Test
    void arranging_a_step_again_allocates_nothing() {
        int[] lengths = ragged();
        int[] starts = starts(64, 1);
        int[] promptStarts = starts(64, 100);
        var threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long quietestBytes = Long.MAX_VALUE;
        for (int round = 0; round < 10; round++) {
            long before = threads.getCurrentThreadAllocatedBytes();
            plan.arrange(starts, lengths, 64, 8, 4);
            plan.arrange(promptStarts, lengths, 64, 8, 4);
            quietestBytes = Math.min(quietestBytes, threads.getCurrentThreadAllocatedBytes() - before);
        }
        assertThat(quietestBytes).isZero();
    }
}
