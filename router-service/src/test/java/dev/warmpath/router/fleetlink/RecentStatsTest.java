package dev.warmpath.router.fleetlink;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.KeySetDigest;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.event.Medium;
import dev.warmpath.router.prefix.KvEventApplier;
import dev.warmpath.router.prefix.PrefixIndex;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class RecentStatsTest {

    private long now;

    @Test
    void the_index_is_counted_once_for_all_who_ask_within_half_a_second() {
        var index = new PrefixIndex();
        var recent = new RecentStats(index, () -> now);
        assertThat(recent.get().keys()).isZero();
        new KvEventApplier("w", 1, index.add(10, true)).apply(new KvEventBatch("w", 1, 0, true,
                List.of(new BlockChange.Stored(Medium.DEVICE, new long[] {7})), 1, KeySetDigest.mix(7)));

        now += Duration.ofMillis(500).toNanos();
        assertThat(recent.get().keys()).isZero();
        now++;
        assertThat(recent.get().keys()).isEqualTo(1);
    }
}
