package dev.warmpath.protocol.event;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.protocol.event.BlockChange.Cleared;
import dev.warmpath.protocol.event.BlockChange.Removed;
import dev.warmpath.protocol.event.BlockChange.Stored;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class KvEventCodecTest {

    private static final KvEventBatch GOLDEN = new KvEventBatch("w-0", 300, 7, false,
            List.of(new Stored(Medium.DEVICE, new long[] {1, 0x8877665544332211L}),
                    new Removed(Medium.HOST, new long[] {1}),
                    new Cleared()),
            5, 0x0102030405060708L);

    /** Changing this text is a new protocol version: old and new processes meet during every rolling update. */
    private static final String GOLDEN_HEX = "0100" + "03772d30" + "ac02" + "07" + "03"
            + "000002" + "0100000000000000" + "1122334455667788"
            + "010101" + "0100000000000000"
            + "02"
            + "05" + "0807060504030201";

    @Test
    void a_batch_has_exactly_these_bytes() {
        assertThat(HexFormat.of().formatHex(KvEventCodec.encode(GOLDEN))).isEqualTo(GOLDEN_HEX);
        assertThat(KvEventCodec.decode(HexFormat.of().parseHex(GOLDEN_HEX))).isEqualTo(GOLDEN);
    }

    @Test
    void a_snapshot_of_an_unused_worker_may_have_sequence_zero() {
        var snapshot = new KvEventBatch("w", -1L, 0, true, List.of(), 0, 0);

        assertThat(KvEventCodec.decode(KvEventCodec.encode(snapshot))).isEqualTo(snapshot);
    }

    @Test
    void a_mark_repeats_the_place_behind_a_batch_or_before_the_first_one() {
        var mark = new KvEventBatch("w-0", 300, 7, false, List.of(), 5, 0x0102030405060708L);
        assertThat(GOLDEN.mark()).isEqualTo(mark);
        assertThat(mark.isMark()).isTrue();
        assertThat(GOLDEN.isMark()).isFalse();
        assertThat(KvEventCodec.decode(KvEventCodec.encode(mark))).isEqualTo(mark);

        KvEventBatch first = new KvEventBatch("w", -1L, 0, true, List.of(), 0, 0).mark();
        assertThat(KvEventCodec.decode(KvEventCodec.encode(first))).isEqualTo(first);
        assertThatThrownBy(() -> new KvEventBatch("w", -1L, 0, false, List.of(new Cleared()), 0, 0))
                .hasMessage("sequence 0 is not possible");
    }

    @Test
    void every_cut_and_every_added_byte_is_refused_as_a_format_error() {
        byte[] whole = KvEventCodec.encode(GOLDEN);
        for (int length = 0; length < whole.length; length++) {
            byte[] cut = Arrays.copyOf(whole, length);
            assertThatThrownBy(() -> KvEventCodec.decode(cut)).isInstanceOf(EventFormatException.class);
        }
        assertThatThrownBy(() -> KvEventCodec.decode(Arrays.copyOf(whole, whole.length + 1)))
                .isInstanceOf(EventFormatException.class);
    }

    @Test
    void a_huge_claimed_count_is_refused_before_memory_is_taken() {
        byte[] bytes = HexFormat.of().parseHex("0100" + "0177" + "01" + "01" + "01" + "0000" + "ffffff07");

        assertThatThrownBy(() -> KvEventCodec.decode(bytes))
                .isInstanceOf(EventFormatException.class)
                .hasMessageContaining("16777215 keys");
    }

    @Test
    void a_set_size_that_is_no_positive_int_is_a_format_error() {
        String beforeSize = "0100" + "0177" + "01" + "01" + "00";
        String digest = "0000000000000000";
        for (String varint : new String[] {"80808080808080808001", "ffffffffffffffffff01", "8080808008"}) {
            byte[] bytes = HexFormat.of().parseHex(beforeSize + varint + digest);
            assertThatThrownBy(() -> KvEventCodec.decode(bytes)).as(varint)
                    .isInstanceOf(EventFormatException.class).hasMessageContaining("claims a set of");
        }
    }

    @Test
    void ten_thousand_batches_with_a_flipped_bit_end_in_a_batch_or_a_format_error() {
        var random = new Random(4711);
        byte[] whole = KvEventCodec.encode(GOLDEN);
        int refused = 0;
        for (int i = 0; i < 10_000; i++) {
            byte[] broken = whole.clone();
            broken[random.nextInt(broken.length)] ^= (byte) (1 << random.nextInt(8));
            try {
                KvEventCodec.decode(broken);
            } catch (EventFormatException e) {
                refused++;
            }
        }
        assertThat(refused).isBetween(1, 9_999);
    }

    @Test
    void the_digest_forgets_order_and_what_was_removed() {
        var first = new KeySetDigest();
        first.add(1);
        first.add(2);
        first.add(3);
        first.remove(2);
        var second = new KeySetDigest();
        second.add(3);
        second.add(1);

        assertThat(first.value()).isEqualTo(second.value());
        assertThat(first.count()).isEqualTo(2);
        second.remove(1);
        second.remove(3);
        assertThat(second.value()).isZero();
    }

    @Test
    void the_digest_mix_is_splitmix64() {
        assertThat(KeySetDigest.mix(0x9e3779b97f4a7c15L)).isEqualTo(0xe220a8397b1dcdafL);
    }
}
