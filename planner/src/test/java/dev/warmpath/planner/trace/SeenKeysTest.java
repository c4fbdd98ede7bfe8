package dev.warmpath.planner.trace;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class SeenKeysTest {

    @Test
    void a_key_is_new_once_zero_too() {
        var seen = new SeenKeys();
        for (long key : new long[] {0, 1, -1, Long.MIN_VALUE, 5}) {
            assertThat(seen.contains(key)).isFalse();
            assertThat(seen.add(key)).isTrue();
            assertThat(seen.add(key)).isFalse();
            assertThat(seen.contains(key)).isTrue();
        }
        assertThat(seen.isExact()).isTrue();
    }

    @Test
    void beyond_four_million_it_forgets_nothing_and_takes_less_than_one_in_a_thousand_new_ones_for_seen() {
        var seen = new SeenKeys();
        var random = new SplittableRandom(1);
        for (int i = 0; i < 5_000_000; i++) {
            seen.add(random.nextLong());
        }
        assertThat(seen.isExact()).isFalse();

        random = new SplittableRandom(1);
        for (int i = 0; i < 5_000_000; i++) {
            if (!seen.contains(random.nextLong())) {
                throw new AssertionError("key " + i + " is forgotten");
            }
        }
        int wrong = 0;
        for (int i = 0; i < 100_000; i++) {
            wrong += seen.contains(random.nextLong()) ? 1 : 0;
        }
        assertThat(wrong).isLessThan(100);
    }
}
