package dev.warmpath.tokenization.bpe;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class LossyUtf8Test {
    private static String text(int... bytes) {
        var array = new byte[bytes.length];
        for (int i = 0; i < array.length; i++) {
            array[i] = (byte) bytes[i];
        }
        return LossyUtf8.text(array, array.length);
    }

    /** The Unicode Standard's own examples, chapter 3.9, tables 3-8 to 3-11. */
    @Test
    void the_longest_beginning_of_a_character_is_one_replacement() {
        assertThat(text(0xC0, 0xAF, 0xE0, 0x80, 0xBF, 0xF0, 0x81, 0x82, 0x41)).isEqualTo("\uFFFD".repeat(8) + "A");
        assertThat(text(0xED, 0xA0, 0x80, 0xED, 0xBF, 0xBF, 0xED, 0xAF, 0x41)).isEqualTo("\uFFFD".repeat(8) + "A");
        assertThat(text(0xF4, 0x91, 0x92, 0x93, 0xFF, 0x41, 0x80, 0xBF, 0x42))
                .isEqualTo("\uFFFD".repeat(5) + "A\uFFFD\uFFFDB");
        assertThat(text(0xE1, 0x80, 0xE2, 0xF0, 0x91, 0x92, 0xF1, 0xBF, 0x41)).isEqualTo("\uFFFD".repeat(4) + "A");
    }

    @Test
    void a_character_in_the_making_is_told_from_one_that_is_none() {
        byte[] bytes = {'a', (byte) 0xF0, (byte) 0x9F, (byte) 0xA6, (byte) 0x84, (byte) 0xE4, (byte) 0xBD};
        assertThat(LossyUtf8.finishedEnd(bytes, 7)).isEqualTo(5);
        assertThat(LossyUtf8.finishedEnd(bytes, 5)).isEqualTo(5);
        assertThat(LossyUtf8.finishedEnd(bytes, 4)).isEqualTo(1);
        assertThat(LossyUtf8.finishedEnd(bytes, 1)).isEqualTo(1);
        assertThat(LossyUtf8.finishedEnd(new byte[] {(byte) 0xED, (byte) 0xA0}, 2)).isEqualTo(2);
    }
}
