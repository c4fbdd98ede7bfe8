package dev.warmpath.protocol.pool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.protocol.event.EventFormatException;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class PoolCodecTest {

    private static final PoolShape SHAPE = new PoolShape(16, 300, 9, 1);
    private static final PoolCounters COUNTERS = new PoolCounters(3, 296, 2, 400, 64, 500, 5, 7, 1, 2, 3, 1, 1);

    private static final PoolFrame GOLDEN = new PoolFrame(5, 1000, false, true, SHAPE, COUNTERS,
            new PoolBlocks(new int[] {1, 2, 299}, new int[] {2, 1, 0}, new boolean[] {true, false, false},
                    new long[] {0x8877665544332211L, 0, 0}, new long[] {300, 17, 0}),
            new int[] {299, 4}, bits(0, 8),
            List.of(new PoolRequest("r-1", 0, RequestState.RUNNING, 100, 64, 100, 5, 0),
                    new PoolRequest("é", 1, RequestState.SWAPPED, 16, 0, 0, 0, 0)));

    /** Changing this text is a new version: old and new processes meet during every rolling update. */
    private static final String GOLDEN_HEX = "0102" + "05" + "e807"
            + "10" + "ac02" + "09" + "01"
            + "03" + "a802" + "02" + "9003" + "40" + "f403" + "05" + "07" + "01" + "02" + "03" + "01" + "01"
            + "03" + "01" + "05" + "1122334455667788" + "ac02" + "00" + "02" + "11" + "a802" + "00" + "00"
            + "02" + "ab02" + "04"
            + "02" + "0101"
            + "02" + "03722d31" + "00" + "01" + "64" + "40" + "64" + "05" + "00"
            + "02c3a9" + "01" + "02" + "10" + "00" + "00" + "00" + "00";

    private static BitSet bits(int... set) {
        var bits = new BitSet();
        Arrays.stream(set).forEach(bits::set);
        return bits;
    }

    @Test
    void a_frame_has_exactly_these_bytes() {
        assertThat(HexFormat.of().formatHex(PoolCodec.encode(GOLDEN))).isEqualTo(GOLDEN_HEX);
        assertThat(PoolCodec.decode(HexFormat.of().parseHex(GOLDEN_HEX))).isEqualTo(GOLDEN);
    }

    @Test
    void the_largest_numbers_come_through_and_stay_within_the_limit() {
        int[] ids = {7, PoolShape.MAX_BLOCKS - 1};
        int[] references = {Integer.MAX_VALUE, Integer.MAX_VALUE};
        long most = Long.MAX_VALUE;
        var request = new PoolRequest("𝄞".repeat(128), Integer.MAX_VALUE, RequestState.WAITING, Integer.MAX_VALUE,
                Integer.MAX_VALUE, Integer.MAX_VALUE, Integer.MAX_VALUE, Integer.MAX_VALUE);
        int[] next = new int[PoolFrame.MAX_NEXT];
        Arrays.fill(next, PoolShape.MAX_BLOCKS - 1);
        var frame = new PoolFrame(most, most, true, false,
                new PoolShape(Integer.MAX_VALUE, PoolShape.MAX_BLOCKS, PoolShape.MAX_HOST_BLOCKS, Integer.MAX_VALUE),
                new PoolCounters(most, most, most, most, most, most, most, most, most, most, most, most, most),
                new PoolBlocks(ids, references, new boolean[] {true, true}, new long[] {-1, Long.MIN_VALUE},
                        new long[] {most, most}),
                next, bits(PoolShape.MAX_HOST_BLOCKS - 1),
                Collections.nCopies(PoolFrame.MAX_REQUESTS, request));

        byte[] bytes = PoolCodec.encode(frame);

        assertThat(PoolCodec.decode(bytes)).isEqualTo(frame);
        assertThat(bytes.length).isLessThan(PoolCodec.maxPayloadBytes(2));
    }

    @Test
    void every_cut_and_every_added_byte_is_refused_as_a_format_error() {
        byte[] whole = PoolCodec.encode(GOLDEN);
        for (int length = 0; length < whole.length; length++) {
            byte[] cut = Arrays.copyOf(whole, length);
            assertThatThrownBy(() -> PoolCodec.decode(cut)).isInstanceOf(EventFormatException.class);
        }
        assertThatThrownBy(() -> PoolCodec.decode(Arrays.copyOf(whole, whole.length + 1)))
                .isInstanceOf(EventFormatException.class).hasMessageContaining("1 bytes after the end");
    }

    @Test
    void every_flipped_bit_and_a_hundred_thousand_broken_frames_end_in_a_frame_or_a_format_error() {
        byte[] whole = PoolCodec.encode(GOLDEN);
        int refused = 0;
        for (int bit = 0; bit < whole.length * 8; bit++) {
            byte[] broken = whole.clone();
            broken[bit / 8] ^= (byte) (1 << bit % 8);
            refused += isRefused(broken) ? 1 : 0;
        }
        assertThat(refused).isBetween(1, whole.length * 8 - 1);
        var random = new Random(4711);
        for (int i = 0; i < 100_000; i++) {
            byte[] broken = whole.clone();
            for (int j = random.nextInt(1, 8); j > 0; j--) {
                broken[random.nextInt(broken.length)] = (byte) random.nextInt();
            }
            refused += isRefused(broken) ? 1 : 0;
        }
        assertThat(refused).isGreaterThan(10_000);
    }

    private static boolean isRefused(byte[] bytes) {
        try {
            PoolCodec.decode(bytes);
            return false;
        } catch (EventFormatException e) {
            return true;
        }
    }

    @Test
    void a_huge_claimed_count_is_refused_before_memory_is_taken() {
        String head = GOLDEN_HEX.substring(0, GOLDEN_HEX.indexOf("0301051122"));
        String largePool = head.replace("ac0209", "80808008" + "09");

        assertRefused(largePool + "ffffff07", "claims 16777215 blocks, limit 16777216, 0 bytes left");
        assertRefused(head + "00" + "8102", "claims 257 next blocks");
        assertRefused(head + "00" + "00" + "ffffff00", "claims 2097151 bytes of host blocks");
        assertRefused(head + "00" + "00" + "00" + "8102", "claims 257 requests");
        assertRefused(head + "00" + "00" + "00" + "01" + "8106" + "0".repeat(16), "claims 769 bytes of request id");
    }

    @Test
    void what_no_pool_can_be_is_refused() {
        String head = GOLDEN_HEX.substring(0, GOLDEN_HEX.indexOf("0301051122"));

        assertRefused("02", "has version 2");
        assertRefused("0104", "unknown flags 4");
        assertRefused(head.replace("ac0209", "00" + "09"), "a pool of 0 and 9 blocks");
        assertRefused(head.replace("ac0209", "81808008" + "09"), "a pool of 16777217 and 9 blocks");
        assertRefused(head + "01" + "ac02" + "00" + "00" + "000000", "a pool of 300 blocks has no block 300");
        assertRefused(head + "01" + "ffffffff07" + "00" + "00" + "000000", "has no block 2147483647");
        assertRefused(head + "01" + "00" + "8080808020" + "00" + "000000", "block 0 has 4294967296 references");
        assertRefused(head + "00" + "01" + "ac02" + "0000", "block 300 of 300 cannot come next");
        assertRefused(head + "00" + "00" + "02" + "0002" + "00", "host block 9 of 9 cannot be in use");
        assertRefused(head + "00" + "00" + "00" + "01" + "000001000000000000", "a request id has 0 characters");
        assertRefused(head + "00" + "00" + "00" + "01" + "01610003" + "0000000000", "in state 3 is not known");
    }

    private static void assertRefused(String hex, String sentence) {
        assertThatThrownBy(() -> PoolCodec.decode(HexFormat.of().parseHex(hex))).as(hex)
                .isInstanceOf(EventFormatException.class).hasMessageContaining(sentence);
    }

    @Test
    void a_copy_follows_a_whole_frame_and_its_changes_and_forgets_all_with_the_next_whole_one() {
        var copy = new PoolCopy();
        copy.apply(frame(1, true, blocks(3, 1, 0x11, 20)));
        copy.apply(frame(2, false, blocks(4, 2, 0x22, 40)));

        assertThat(copy.blockCount()).isEqualTo(300);
        assertThat(copy.state(0)).isEqualTo(BlockState.NULL);
        assertThat(copy.state(3)).isEqualTo(BlockState.USED);
        assertThat(copy.references(4)).isEqualTo(2);
        assertThat(copy.state(4)).isEqualTo(BlockState.SHARED);
        assertThat(copy.key(4)).isEqualTo(0x22);
        assertThat(copy.lastUseMillis(4)).isEqualTo(40);

        copy.apply(frame(9, true, blocks(5, 0, 0x33, 60)));
        assertThat(copy.state(3)).isEqualTo(BlockState.FREE);
        assertThat(copy.isKeyed(4)).isFalse();
        assertThat(copy.key(4)).isZero();
        assertThat(copy.lastUseMillis(4)).isZero();
        assertThat(copy.state(5)).isEqualTo(BlockState.CACHED);
    }

    @Test
    void a_copy_refuses_changes_of_a_frame_that_it_has_not_seen() {
        var copy = new PoolCopy();
        assertThatThrownBy(() -> copy.apply(frame(1, false, PoolBlocks.NONE)))
                .isInstanceOf(EventFormatException.class).hasMessageContaining("one that did not come");
        copy.apply(frame(1, true, blocks(3, 1, 0x11, 20)));
        assertThatThrownBy(() -> copy.apply(frame(3, false, blocks(3, 2, 0x11, 20))))
                .isInstanceOf(EventFormatException.class)
                .hasMessageContaining("frame 3").hasMessageContaining("frame 1");
        assertThat(copy.references(3)).isEqualTo(1);
    }

    private static PoolBlocks blocks(int id, int references, long key, long lastUse) {
        return new PoolBlocks(new int[] {id}, new int[] {references}, new boolean[] {true}, new long[] {key},
                new long[] {lastUse});
    }

    private static PoolFrame frame(long sample, boolean whole, PoolBlocks blocks) {
        return new PoolFrame(sample, 200 * sample, whole, false, SHAPE, COUNTERS, blocks, new int[0], new BitSet(),
                List.of());
    }
}
