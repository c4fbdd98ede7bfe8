package dev.warmpath.router.prefix;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import org.junit.jupiter.api.Test;

/** That the bits are those of the keys is what {@link KeyTable#checkIntegrity} compares. */
class OccupancyTest {

    private final KeyTable table = new KeyTable();

    @Test
    void bits_are_those_of_the_keys_while_the_table_grows_to_300000_keys_and_shrinks_again() {
        long[] keys = new Random(1).longs(300_000).toArray();
        for (int i = 0; i < keys.length; i++) {
            table.add(keys[i], 1);
            checkAt(i);
        }
        for (long key : keys) {
            assertThat(table.mayBeHeld(key)).isTrue();
        }
        for (int i = 0; i < keys.length; i++) {
            table.remove(keys[i], 1);
            checkAt(i);
        }
        for (long key : keys) {
            assertThat(table.mayBeHeld(key)).isFalse();
        }
    }

    /** So crowded that a range spans many homes, whose keys lie apart. */
    @Test
    void bits_are_those_of_the_keys_where_all_keys_are_in_a_few_ranges() {
        var random = new Random(2);
        for (int step = 0; step < 20_000; step++) {
            long key = (long) random.nextInt(3) << 52 | random.nextLong() >>> 14;
            table.add(key, 1);
            if (random.nextInt(3) > 0) {
                table.remove(key, 1);
            }
            if (step % 1_000 == 0) {
                table.checkIntegrity(new WorkerKeys.Totals[2]);
            }
        }
        table.checkIntegrity(new WorkerKeys.Totals[2]);
    }

    @Test
    void three_in_four_keys_that_nobody_holds_are_known_by_their_bit() {
        var random = new Random(3);
        for (int i = 0; i < 100_000; i++) {
            table.add(random.nextLong(), 1);
        }
        assertThat(random.longs(100_000).filter(table::mayBeHeld).count()).isLessThan(100_000 / 4);
    }

    private void checkAt(int step) {
        if (step % 9_973 == 0) {
            table.checkIntegrity(new WorkerKeys.Totals[2]);
        }
    }
}
