package dev.warmpath.worker.compute;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class Bf16Test {

    private static float rounded(float value) {
        return Bf16.toFloat(Bf16.of(value));
    }

    @Test
    void the_nearest_value_is_taken_and_of_two_equally_near_the_even_one() {
        // between 1 and 2 values stand 2^-7 apart
        assertThat(rounded(1 + 0x1p-7f)).isEqualTo(1 + 0x1p-7f);
        assertThat(rounded(1 + 0x1p-8f)).as("half way, 1 is even").isEqualTo(1);
        assertThat(rounded(1 + 3 * 0x1p-8f)).as("half way, 1 + 2 steps is even").isEqualTo(1 + 0x1p-6f);
        assertThat(rounded(1 + 0x1p-8f + 0x1p-23f)).isEqualTo(1 + 0x1p-7f);
        assertThat(rounded(-1 - 0x1p-8f - 0x1p-23f)).isEqualTo(-1 - 0x1p-7f);
        assertThat(Bf16.of(1)).isEqualTo((short) 0x3F80);
    }

    @Test
    void what_is_past_the_largest_is_infinite_and_nothing_else_changes_its_kind() {
        assertThat(rounded(Float.MAX_VALUE)).isEqualTo(Float.POSITIVE_INFINITY);
        assertThat(rounded(Float.NEGATIVE_INFINITY)).isEqualTo(Float.NEGATIVE_INFINITY);
        assertThat(rounded(Float.intBitsToFloat(0x7F80_0001))).isNaN();
        assertThat(Bf16.of(-0f)).isEqualTo((short) 0x8000);
        assertThat(rounded(Float.MIN_VALUE)).isZero();
    }
}
