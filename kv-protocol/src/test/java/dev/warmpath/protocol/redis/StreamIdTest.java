package dev.warmpath.protocol.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.protocol.event.EventFormatException;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class StreamIdTest {

    @Test
    void ids_are_ordered_by_time_then_number_both_unsigned() {
        assertThat(Stream.of("10-0", "9-18446744073709551615", "18446744073709551615-0", "9-2", "0-0")
                .map(StreamId::parse).sorted().map(StreamId::toString))
                .containsExactly("0-0", "9-2", "9-18446744073709551615", "10-0", "18446744073709551615-0");
        assertThat(StreamId.parse("0-0")).isEqualTo(StreamId.ZERO);
    }

    @Test
    void what_is_no_id_is_refused() {
        for (String text : new String[] {"", "-", "1", "1-", "-1", "1-2-3", "a-1", "1--1", "18446744073709551616-0"}) {
            assertThatThrownBy(() -> StreamId.parse(text)).as(text).isInstanceOf(EventFormatException.class);
        }
    }
}
