package dev.warmpath.worker.kvcache;

import static dev.warmpath.worker.kvcache.KeyTable.ABSENT;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.Random;
import org.junit.jupiter.api.Test;

class KeyTableTest {

    @Test
    void keys_that_meet_in_one_slot_are_told_apart() {
        var table = new KeyTable(4);                                  // 8 slots
        table.put(3, 30);
        table.put(11, 110);
        table.put(19, 190);

        assertThat(table.remove(3)).isEqualTo(30);

        assertThat(table.get(3)).isEqualTo(ABSENT);
        assertThat(table.get(11)).isEqualTo(110);
        assertThat(table.get(19)).isEqualTo(190);
        assertThat(table.size()).isEqualTo(2);
    }

    @Test
    void an_unknown_key_is_absent_and_its_removal_changes_nothing() {
        var table = new KeyTable(4);
        table.put(0, 7);

        assertThat(table.get(8)).isEqualTo(ABSENT);
        assertThat(table.remove(8)).isEqualTo(ABSENT);
        assertThat(table.get(0)).isEqualTo(7);
    }

    @Test
    void random_changes_agree_with_a_hash_map() {
        long seed = 20260817;
        var random = new Random(seed);
        var table = new KeyTable(0);
        var model = new HashMap<Long, Integer>();
        for (int i = 0; i < 200_000; i++) {
            long key = (random.nextInt(40) << 4) | (random.nextInt(8) == 0 ? Long.MIN_VALUE : 0);   // crowded slots
            if (random.nextBoolean()) {
                table.put(key, i);
                model.put(key, i);
            } else {
                Integer known = model.remove(key);
                assertThat(table.remove(key)).as("seed %d, step %d", seed, i).isEqualTo(known == null ? ABSENT : known);
            }
            long probe = random.nextInt(40) << 4;
            assertThat(table.get(probe)).as("seed %d, step %d", seed, i).isEqualTo(model.getOrDefault(probe, ABSENT));
            assertThat(table.size()).isEqualTo(model.size());
        }
    }
}
