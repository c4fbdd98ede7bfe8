package dev.warmpath.worker.compute;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** Known answers of Random123 1.14, tests/kat_vectors, lines "philox4x32 10". */
class PhiloxTest {

    @Test
    void zero_counter_and_key_give_the_known_answer() {
        assertThat(Philox.firstWords(0, 0, 0, 0, 0, 0)).isEqualTo(0x6627e8d5_e169c58dL);
        assertThat(Philox.lastWords(0, 0, 0, 0, 0, 0)).isEqualTo(0xbc57ac4c_9b00dbd8L);
    }

    @Test
    void all_ones_give_the_known_answer() {
        assertThat(Philox.firstWords(-1, -1, -1, -1, -1, -1)).isEqualTo(0x408f276d_41c83b0eL);
        assertThat(Philox.lastWords(-1, -1, -1, -1, -1, -1)).isEqualTo(0xa20bc7c6_6d5451fdL);
    }

    @Test
    void digits_of_pi_give_the_known_answer() {
        assertThat(Philox.firstWords(0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0))
                .isEqualTo(0xd16cfe09_94fdccebL);
        assertThat(Philox.lastWords(0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0))
                .isEqualTo(0x5001e420_24126ea1L);
    }

    @Test
    void uniform_takes_the_upper_53_bits_of_the_first_two_words() {
        assertThat(Philox.uniform(0, 0)).isEqualTo((0x6627e8d5_e169c58dL >>> 11) / (double) (1L << 53));
        assertThat(Philox.uniform(0, 0)).isBetween(0.39904, 0.39906);
    }
}
