package dev.warmpath.router.models;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;

class RevisionWishesTest {

    @Test
    void of_256_wishes_each_can_be_changed_and_taken_back_and_another_one_is_refused() {
        var wishes = new RevisionWishes(Map.of(), Map.of());
        for (int i = 0; i < 128; i++) {
            assertThat(wishes.setWeight("r" + i, 0)).isTrue();
            assertThat(wishes.pin("model " + i, "r" + i)).isTrue();
        }
        assertThat(wishes.setWeight("another", 2)).isFalse();
        assertThat(wishes.pin("another model", "another")).isFalse();
        assertThat(wishes.weight("another")).isEqualTo(1);
        assertThat(wishes.allows("another model", "something else")).isTrue();

        assertThat(wishes.pin("model 7", "r7")).isTrue();
        assertThat(wishes.pin("model 7", "newer")).isTrue();
        assertThat(wishes.isPinned("model 7", "newer")).isTrue();
        assertThat(wishes.setWeight("r7", 0.5)).isTrue();
        assertThat(wishes.weight("r7")).isEqualTo(0.5);

        assertThat(wishes.setWeight("r8", 1)).isTrue();
        assertThat(wishes.pin("another model", "another")).isTrue();
    }
}
