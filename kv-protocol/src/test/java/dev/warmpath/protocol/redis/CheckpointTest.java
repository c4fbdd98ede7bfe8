package dev.warmpath.protocol.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.EventFormatException;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.event.Medium;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;

class CheckpointTest {

    private static final KvEventBatch SNAPSHOT = new KvEventBatch("w-1", 300, 5, true,
            List.of(new BlockChange.Stored(Medium.DEVICE, new long[] {0x0102030405060708L, -1})),
            2, 0x1122334455667788L);
    private static final Checkpoint CHECKPOINT = new Checkpoint("1526919030474-55", SNAPSHOT);

    /** Both services and every released version read these bytes: a change needs a new version number. */
    private static final String GOLDEN = "01" + "ca66778363010000" + "3700000000000000"
            + "01" + "01" + "03772d31" + "ac02" + "05" + "01"
            + "00" + "00" + "02" + "0807060504030201" + "ffffffffffffffff"
            + "02" + "8877665544332211";

    @Test
    void the_encoding_is_the_golden_bytes() {
        assertThat(HexFormat.of().formatHex(CHECKPOINT.encode())).isEqualTo(GOLDEN);
        assertThat(Checkpoint.decode(HexFormat.of().parseHex(GOLDEN))).isEqualTo(CHECKPOINT);
    }

    @Test
    void bytes_that_are_no_checkpoint_are_refused() {
        byte[] good = CHECKPOINT.encode();
        for (int length = 0; length < good.length; length++) {
            byte[] cut = Arrays.copyOf(good, length);
            assertThatThrownBy(() -> Checkpoint.decode(cut)).isInstanceOf(EventFormatException.class);
        }
        byte[] longer = Arrays.copyOf(good, good.length + 1);
        assertThatThrownBy(() -> Checkpoint.decode(longer)).isInstanceOf(EventFormatException.class);
        byte[] newer = good.clone();
        newer[0] = 2;
        assertThatThrownBy(() -> Checkpoint.decode(newer)).hasMessage("checkpoint has version 2, this reader knows 1");
    }

    @Test
    void only_a_snapshot_makes_a_checkpoint() {
        var batch = new KvEventBatch("w-1", 300, 5, false, List.of(), 0, 0);
        assertThatThrownBy(() -> new Checkpoint("0-0", batch))
                .hasMessage("a checkpoint needs a snapshot, batch 5 is none");
        assertThatThrownBy(() -> new Checkpoint("$", SNAPSHOT)).hasMessage("'$' is no id of a stream entry");
    }
}
