package dev.warmpath.router.prefix;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class ShardTest {

    private final Shard shard = Shard.empty();

    @Test
    void nothing_that_was_read_before_a_change_is_believed_after_it() {
        int empty = shard.version();
        assertThat(shard.isStill(empty)).isTrue();
        shard.insert(shard.placeOf(5), 5, /* holder */ 1);
        assertThat(shard.isStill(empty)).isFalse();

        int inserted = shard.version();
        shard.setHolder(shard.placeOf(5), 2);
        assertThat(shard.isStill(inserted)).isFalse();

        int changed = shard.version();
        shard.remove(shard.placeOf(5));
        assertThat(shard.isStill(changed)).isFalse();
        assertThat(shard.version()).isEven();
        assertThat(shard.isStill(shard.version())).isTrue();
    }

    @Test
    void a_closed_shard_is_in_the_middle_of_a_change_for_good() {
        shard.insert(shard.placeOf(5), 5, 1);
        int before = shard.version();
        shard.close();

        assertThat(shard.isStill(before)).isFalse();
        assertThat(shard.version()).isOdd();
    }

    @Test
    void a_resized_copy_holds_the_same_and_starts_with_an_even_version() {
        for (long key = 0; key < 6; key++) {
            shard.insert(shard.placeOf(key), key, 1 + (int) key);
        }
        Shard copy = shard.resized();

        assertThat(copy.version()).isEven();
        copy.checkIntegrity();
        for (long key = 0; key < 6; key++) {
            assertThat(copy.holderAt(copy.placeOf(key), key)).isEqualTo(1 + (int) key);
        }
        assertThat(copy.holderAt(copy.placeOf(6), 6)).isEqualTo(HolderSets.NONE);
    }

    @Test
    void keys_out_of_order_are_found_by_the_check() {
        shard.insert(shard.placeOf(5), 5, 1);
        shard.insert(/* before it */ 0, 9, 1);

        assertThatThrownBy(shard::checkIntegrity).hasMessage("key 5 is out of order at place 1");
    }
}
