package dev.warmpath.benchmarks.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.worker.compute.CacheType;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

class AttentionShapeTest {

    @Test
    void sixty_four_contexts_of_4k_hold_a_gibibyte_of_keys_and_values_in_bf16_and_in_fp8_half_of_it_and_16_mebibytes() {
        var shape = AttentionShape.uniform("", 64, 1, 4096);
        assertThat(shape.keyValueBytes(CacheType.BF16)).isEqualTo(1_073_741_824);
        assertThat(shape.keyValueBytes(CacheType.FP8_E4M3)).isEqualTo(536_870_912 + 16_777_216);
    }

    @Test
    void each_new_token_is_counted_against_the_positions_up_to_its_own() {
        // 3 new tokens that see 3, 4 and 5 positions: 12 pairs of 32 heads of 128, 4 operations each
        assertThat(AttentionShape.of("", 3, 5).causalFlops()).isEqualTo(12 * 32 * 128 * 4.0);
        assertThat(AttentionShape.of("", 1, 5, 7).causalFlops()).isEqualTo(12 * 32 * 128 * 4.0);
    }

    @Test
    void a_prefill_of_4k_is_137_billion_operations() {
        assertThat(AttentionShape.uniform("", 1, 4096, 4096).causalFlops()).isBetween(137.4e9, 137.5e9);
    }

    @Test
    void ragged_lengths_reach_from_the_least_to_the_most() {
        int[] lengths = AttentionShape.ragged("", 64, 128, 8192).contextLengths();
        assertThat(lengths).hasSize(64);
        assertThat(Arrays.stream(lengths).min()).hasValue(128);
        assertThat(Arrays.stream(lengths).max()).hasValue(8192);
        assertThat(Arrays.stream(lengths).distinct().count()).isGreaterThan(60);
    }
}
