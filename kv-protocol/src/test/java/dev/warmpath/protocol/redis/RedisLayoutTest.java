package dev.warmpath.protocol.redis;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

class RedisLayoutTest {

    @Test
    void names_are_what_every_released_version_reads() {
        assertThat(RedisLayout.stream(7)).isEqualTo("warmpath:events:7");
        assertThat(RedisLayout.checkpoint("w-1")).isEqualTo("warmpath:checkpoint:w-1");
        assertThat(RedisLayout.lease("a:b", 12)).isEqualTo("warmpath:lease:a:b:12");
        // CRC-32 of "123456789" is 0xcbf43926, the check value of the catalogues
        assertThat(RedisLayout.streamOf("123456789", 8)).isEqualTo(0x6);
        assertThat(RedisLayout.streamOf("123456789", 64)).isEqualTo(0x26);
    }

    @Test
    void workers_spread_over_all_streams() {
        Set<Integer> streams = new HashSet<>();
        for (int i = 0; i < 40; i++) {
            streams.add(RedisLayout.streamOf("worker-" + i, 8));
        }
        assertThat(streams).containsExactlyInAnyOrder(0, 1, 2, 3, 4, 5, 6, 7);
    }
}
