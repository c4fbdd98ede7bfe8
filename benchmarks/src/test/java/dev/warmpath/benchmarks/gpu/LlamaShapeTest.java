package dev.warmpath.benchmarks.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;

class LlamaShapeTest {

    /** One byte or one operation a nanosecond. */
    private static final Yardsticks SLOW_CARD = new Yardsticks(1e9, 1e9);

    @Test
    void a_step_of_the_1b_class_reads_two_and_a_half_gigabytes_of_weights() {
        // 16 layers of 60,817,408 weights, and 128,256 rows of 2,048 for the head
        assertThat(LlamaShape.oneBillion().stepWeightBytes()).isEqualTo(2 * (16 * 60_817_408L + 262_668_288L));
    }

    @Test
    void a_position_of_the_1b_class_is_32_kib_of_keys_and_values() {
        assertThat(LlamaShape.oneBillion().keyValueBytesPerToken()).isEqualTo(32_768);
    }

    @Test
    void a_decode_step_costs_at_least_its_bytes() {
        assertThat(LlamaShape.oneBillion().decodeFloorNanos(1024, SLOW_CARD))
                .isEqualTo(2_471_493_632.0 + 33_554_432.0);
    }

    @Test
    void a_prompt_costs_bytes_or_operations_whichever_take_longer_and_no_more_for_what_is_cached() {
        // one layer, heads of 2: 20 weights of attention and 18 of the feed-forward; a head of 10
        var shape = new LlamaShape(1, 2, 2, 1, 2, 3, 5, 100);
        double attentionOfAll = 10 * 11 / 2 * 2 * 2 * 4;
        double attentionOfTwo = (9 + 10) * 2 * 2 * 4;
        assertThat(shape.firstTokenFloorNanos(10, 0, SLOW_CARD))
                .isEqualTo(2 * (16 + 8 + 18) * 10 + attentionOfAll + 20, within(1e-9));
        assertThat(shape.firstTokenFloorNanos(10, 8, SLOW_CARD))
                .isEqualTo(2 * (16 + 8 + 18) * 2 + attentionOfTwo + 20, within(1e-9));
        // a card that computes at once: one reading of everything
        assertThat(shape.firstTokenFloorNanos(10, 8, new Yardsticks(1e9, 1e30)))
                .isEqualTo(2 * (16 + 8 + 18) + 10 * 2 * 2 * 2 + 20, within(1e-9));
    }
}
