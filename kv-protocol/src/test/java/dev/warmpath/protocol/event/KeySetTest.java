package dev.warmpath.protocol.event;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class KeySetTest {

    @Test
    void a_key_counts_once_however_often_it_is_added() {
        var keys = new KeySet();

        assertThat(keys.add(7)).isTrue();
        long digest = keys.digest();
        assertThat(keys.add(7)).isFalse();
        assertThat(keys.size()).isEqualTo(1);
        assertThat(keys.digest()).isEqualTo(digest);
        assertThat(keys.remove(8)).isFalse();
        assertThat(keys.remove(7)).isTrue();
        assertThat(keys.size()).isZero();
        assertThat(keys.digest()).isZero();
    }

    @Test
    void zero_is_a_key_like_any_other() {
        var keys = new KeySet();
        keys.add(0);
        keys.add(5);

        assertThat(keys.contains(0)).isTrue();
        assertThat(keys.toArray()).containsExactlyInAnyOrder(0, 5);
        assertThat(keys.remove(0)).isTrue();
        assertThat(keys.contains(0)).isFalse();
        assertThat(keys.toArray()).containsExactly(5);
    }

    /** 300 keys at most: holes are closed all the time and the table wraps around. */
    @Test
    void a_hundred_thousand_random_changes_leave_what_a_hash_set_holds() {
        var random = new Random(17);
        var keys = new KeySet();
        Set<Long> model = new HashSet<>();
        for (int i = 0; i < 100_000; i++) {
            long key = random.nextInt(300);
            if (random.nextBoolean()) {
                assertThat(keys.add(key)).isEqualTo(model.add(key));
            } else {
                assertThat(keys.remove(key)).isEqualTo(model.remove(key));
            }
        }
        var digest = new KeySetDigest();
        model.forEach(digest::add);
        assertThat(keys.toArray()).containsExactlyInAnyOrder(model.stream().mapToLong(Long::longValue).toArray());
        assertThat(keys.digest()).isEqualTo(digest.value());
        for (long key = 0; key < 300; key++) {
            assertThat(keys.contains(key)).isEqualTo(model.contains(key));
        }
    }
}
