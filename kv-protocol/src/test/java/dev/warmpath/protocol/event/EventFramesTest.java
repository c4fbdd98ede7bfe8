package dev.warmpath.protocol.event;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;

class EventFramesTest {

    private static final KvEventBatch EMPTY = new KvEventBatch("w", 1, 0, true, List.of(), 0, 0);

    @Test
    void a_frame_is_its_length_and_the_batch() throws IOException {
        byte[] frame = EventFrames.encode(EMPTY);

        assertThat(HexFormat.of().formatHex(frame)).isEqualTo("00000010" + "0101" + "0177" + "01" + "00" + "00"
                + "00" + "0000000000000000");
        assertThat(KvEventCodec.decode(EventFrames.read(in(frame), 16))).isEqualTo(EMPTY);
    }

    @Test
    void a_keep_alive_is_four_zero_bytes_and_reads_as_an_empty_payload() throws IOException {
        assertThat(EventFrames.read(in(EventFrames.keepAlive()), 0)).isEmpty();
    }

    @Test
    void a_longer_frame_than_the_worker_may_send_is_refused_before_it_is_read() {
        assertThatThrownBy(() -> EventFrames.read(in(EventFrames.encode(EMPTY)), 15))
                .isInstanceOf(EventFormatException.class).hasMessage("frame claims 16 bytes, limit 15");
        assertThatThrownBy(() -> EventFrames.read(in(new byte[] {-1, -1, -1, -1}), 15))
                .isInstanceOf(EventFormatException.class).hasMessage("frame claims 4294967295 bytes, limit 15");
    }

    @Test
    void a_stream_that_ends_inside_a_frame_is_cut() {
        assertThatThrownBy(() -> EventFrames.read(in(new byte[] {0, 0, 0, 9, 1}), 15))
                .isInstanceOf(EOFException.class).hasMessage("stream ended after 1 of 9 bytes of a frame");
    }

    private static DataInputStream in(byte[] bytes) {
        return new DataInputStream(new ByteArrayInputStream(bytes));
    }
}
