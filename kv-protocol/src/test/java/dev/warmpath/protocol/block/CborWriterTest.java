package dev.warmpath.protocol.block;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;

/** Bytes by hand, after RFC 8949, section 3. */
class CborWriterTest {

    private final CborWriter writer = new CborWriter();

    @Test
    void every_number_of_an_array_takes_its_shortest_form() {
        int[] values = {0, 23, 24, 255, 256, 65_535, 65_536, Integer.MAX_VALUE, 1};

        writer.unsignedArray(values, 0, values.length);
        writer.nil();

        assertThat(written()).isEqualTo("89" + "00" + "17" + "1818" + "18ff" + "190100" + "19ffff" + "1a00010000"
                + "1a7fffffff" + "01" + "f6");
    }

    @Test
    void a_part_of_an_array_is_an_array() {
        writer.unsignedArray(new int[] {7, 1000, 9, 8}, 1, 3);

        assertThat(written()).isEqualTo("82" + "1903e8" + "09");
    }

    @Test
    void a_negative_number_is_written_as_its_distance_from_minus_one() {
        for (int value : new int[] {14, 0, -1, -5, -24, -25, -257, Integer.MIN_VALUE}) {
            writer.integer(value);
        }

        assertThat(written()).isEqualTo("0e" + "00" + "20" + "24" + "37" + "3818" + "390100" + "3a7fffffff");
    }

    @Test
    void an_array_longer_than_the_buffer_finds_room() {
        int[] values = new int[1024];
        Arrays.fill(values, 100_000);

        writer.unsignedArray(values, 0, values.length);

        assertThat(written()).isEqualTo("990400" + "1a000186a0".repeat(1024));
    }

    private String written() {
        return HexFormat.of().formatHex(writer.buffer(), 0, writer.size());
    }
}
