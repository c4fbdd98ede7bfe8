package dev.warmpath.protocol.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Random;
import org.junit.jupiter.api.Test;

class BackoffTest {

    @Test
    void pauses_double_up_to_the_longest_and_lie_in_the_upper_half_of_their_range() {
        var backoff = new Backoff(Duration.ofMillis(100), Duration.ofMillis(300), new Random(3));

        assertThat(backoff.next()).isBetween(Duration.ofMillis(50), Duration.ofMillis(100));
        assertThat(backoff.next()).isBetween(Duration.ofMillis(100), Duration.ofMillis(200));
        assertThat(backoff.next()).isBetween(Duration.ofMillis(150), Duration.ofMillis(300));
        assertThat(backoff.next()).isBetween(Duration.ofMillis(150), Duration.ofMillis(300));
        backoff.reset();
        assertThat(backoff.next()).isBetween(Duration.ofMillis(50), Duration.ofMillis(100));
    }
}
