package dev.warmpath.worker.kvcache;

import static dev.warmpath.worker.kvcache.KeyTable.NONE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

class KeyTableTest {

    /** A tag whose probe begins at this slot of 8. */
    private static int tagOfSlot(int slot, int variant) {
        return slot << 29 | variant;
    }

    @Test
    void tags_that_meet_in_one_slot_are_told_apart() {
        var table = new KeyTable(4);                                  // 8 slots
        table.add(tagOfSlot(3, 0), 10);
        table.add(tagOfSlot(3, 1), 20);
        table.add(tagOfSlot(3, 2), 30);

        table.remove(table.find(tagOfSlot(3, 0)));

        assertThat(blocksOf(table, tagOfSlot(3, 0))).isEmpty();
        assertThat(blocksOf(table, tagOfSlot(3, 1))).containsExactly(20);
        assertThat(blocksOf(table, tagOfSlot(3, 2))).containsExactly(30);
        assertThat(table.size()).isEqualTo(2);
    }

    @Test
    void a_probe_goes_on_from_the_last_slot_to_the_first() {
        var table = new KeyTable(4);
        table.add(tagOfSlot(7, 0), 10);
        table.add(tagOfSlot(7, 1), 20);                               // in slot 0
        table.add(tagOfSlot(0, 1), 30);                               // in slot 1

        table.remove(table.find(tagOfSlot(7, 0)));

        assertThat(blocksOf(table, tagOfSlot(7, 1))).containsExactly(20);
        assertThat(blocksOf(table, tagOfSlot(0, 1))).containsExactly(30);
        assertThat(table.block(7)).isEqualTo(20);
        assertThat(table.block(0)).isEqualTo(30);
    }

    @Test
    void several_blocks_may_have_one_tag() {
        var table = new KeyTable(4);
        table.add(5, 1);
        table.add(5, 2);
        table.replace(table.find(5), 3);

        assertThat(blocksOf(table, 5)).containsExactly(3, 2);
    }

    @Test
    void an_unknown_tag_has_no_slot_even_in_a_table_of_none() {
        var table = new KeyTable(4);
        table.add(0, 7);

        assertThat(table.find(1)).isEqualTo(NONE);
        assertThat(table.find(-1)).isEqualTo(NONE);
        assertThat(new KeyTable(0).find(0)).isEqualTo(NONE);
    }

    @Test
    void more_entries_than_the_table_was_made_for_are_an_error() {
        var table = new KeyTable(1);
        table.add(0, 7);

        assertThatIllegalStateException().isThrownBy(() -> table.add(1, 8))
                .withMessage("the key table is full with 1 entries");
    }

    @Test
    void random_changes_agree_with_a_map_of_lists() {
        long seed = 20260817;
        var random = new Random(seed);
        int capacity = 61;                                            // 122 slots: no power of two
        var table = new KeyTable(capacity);
        Map<Integer, List<Integer>> model = new HashMap<>();
        for (int i = 1; i <= 200_000; i++) {
            int tag = random.nextInt(40) << 26 | random.nextInt(2);   // crowded in a part of the table
            List<Integer> known = model.computeIfAbsent(tag, any -> new ArrayList<>());
            if (random.nextBoolean() && table.size() < capacity) {
                table.add(tag, i);
                known.add(i);
            } else if (!known.isEmpty()) {
                int slot = table.find(tag);
                assertThat(known.remove((Integer) table.block(slot))).as("seed %d, step %d", seed, i).isTrue();
                table.remove(slot);
            }
            assertThat(blocksOf(table, tag)).as("seed %d, step %d", seed, i).containsExactlyInAnyOrderElementsOf(known);
            int other = random.nextInt(40) << 26;
            assertThat(blocksOf(table, other)).as("seed %d, step %d", seed, i)
                    .containsExactlyInAnyOrderElementsOf(model.getOrDefault(other, List.of()));
            assertThat(table.size()).isEqualTo(model.values().stream().mapToInt(List::size).sum());
        }
    }

    private static List<Integer> blocksOf(KeyTable table, int tag) {
        List<Integer> blocks = new ArrayList<>();
        for (int slot = table.find(tag); slot != NONE; slot = table.findNext(slot, tag)) {
            blocks.add(table.block(slot));
        }
        return blocks;
    }
}
