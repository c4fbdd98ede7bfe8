package dev.warmpath.worker.kvcache;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class BlockPoolSizeTest {

    /** K24's model: 8 KV heads of 128 elements, 32 layers, two bytes an element, blocks of 16 tokens. */
    private static BlockPoolSize size(long memoryBytes, double utilization) {
        return new BlockPoolSize(16, 8, 128, 2, 0, 32, memoryBytes, utilization);
    }

    @Test
    @DisplayName("K24: 56e9 bytes hold 26,702 blocks of 2,097,152 bytes, 427,232 tokens")
    void memory_holds_as_many_whole_blocks_as_fit() {
        BlockPoolSize size = size(56_000_000_000L, 1);

        assertThat(size.bytesPerBlock()).isEqualTo(2_097_152);
        assertThat(size.blockCount()).isEqualTo(26_702);
        assertThat(size.tokenCount()).isEqualTo(427_232);
        assertThat(size.bytes()).isEqualTo(55_998_152_704L);
        assertThat(size.arithmetic()).isEqualTo("2 (keys, values) x 16 tokens x 8 heads x 128 elements x 2 bytes "
                + "x 32 layers = 2,097,152 bytes a block; 56,000,000,000 bytes x 1.0 hold "
                + "26,702 blocks = 427,232 tokens");
    }

    @Test
    void a_scale_of_4_bytes_beside_128_elements_of_1_byte_makes_a_block_of_1_081_344_bytes() {
        var size = new BlockPoolSize(16, 8, 128, 1, 4, 32, 56_000_000_000L, 1);

        assertThat(size.bytesPerBlock()).isEqualTo(1_048_576 + 32_768);
        assertThat(size.withMemory(1_081_343).blockCount()).isZero();
        assertThat(size.withBlockCount(3).memoryBytes()).isEqualTo(3_244_032);
        assertThat(size.arithmetic()).isEqualTo("2 (keys, values) x 16 tokens x 8 heads x (128 elements x 1 bytes "
                + "+ 4 bytes of scale) x 32 layers = 1,081,344 bytes a block; 56,000,000,000 bytes x 1.0 hold "
                + "51,787 blocks = 828,592 tokens");
    }

    @Test
    void utilization_takes_its_share_before_blocks_are_counted() {
        assertThat(size(80_000_000_000L, 0.7).blockCount()).isEqualTo(26_702);
        assertThat(size(2_097_152, 0.99).blockCount()).isZero();
        assertThat(size(4_194_303, 1).blockCount()).isEqualTo(1);
    }

    @Test
    void a_given_number_of_blocks_takes_exactly_their_bytes() {
        BlockPoolSize size = size(56_000_000_000L, 0.9).withBlockCount(100);

        assertThat(size.memoryBytes()).isEqualTo(209_715_200);
        assertThat(size.blockCount()).isEqualTo(100);
        assertThat(size.tokenCount()).isEqualTo(1_600);
    }

    @Test
    void values_that_no_cache_has_are_refused_by_value() {
        assertThatThrownBy(() -> size(-1, 1)).hasMessage("memory of -1 bytes is negative");
        assertThatThrownBy(() -> size(1, 0)).hasMessageContaining("utilization 0.0 is outside");
        assertThatThrownBy(() -> size(1, 1.01)).hasMessageContaining("utilization 1.01");
        assertThatThrownBy(() -> size(1, Double.NaN)).hasMessageContaining("utilization NaN");
        assertThatThrownBy(() -> new BlockPoolSize(0, 8, 128, 2, 0, 32, 1, 1)).hasMessageContaining("0 tokens");
        assertThatThrownBy(() -> new BlockPoolSize(16, 8, 128, 1, -1, 32, 1, 1))
                .hasMessageContaining("scales of -1 bytes");
        assertThatThrownBy(() -> new BlockPoolSize(1024, 1 << 20, 1 << 20, 4, 0, 1 << 20, 1, 1).bytesPerBlock())
                .isInstanceOf(ArithmeticException.class);
    }
}
