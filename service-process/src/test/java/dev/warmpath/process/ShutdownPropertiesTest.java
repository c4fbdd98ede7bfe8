package dev.warmpath.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.springframework.mock.env.MockEnvironment;

class ShutdownPropertiesTest {

    @Test
    void a_deadline_of_nothing_is_refused() {
        assertThatThrownBy(() -> new ShutdownProperties(Duration.ZERO))
                .hasMessage("warmpath.shutdown.deadline is PT0S, takes more than 0s");
    }

    @Test
    void it_is_150_seconds_unless_set() {
        var set = new MockEnvironment().withProperty("warmpath.shutdown.deadline", "20s");

        assertThat(ShutdownProperties.of(new MockEnvironment()).deadline()).isEqualTo(Duration.ofSeconds(150));
        assertThat(ShutdownProperties.of(set).deadline()).isEqualTo(Duration.ofSeconds(20));
    }
}
