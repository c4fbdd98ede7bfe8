package dev.warmpath.protocol.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class ThisMachineTest {

    @Test
    void only_localhost_and_loopback_addresses_name_this_machine() {
        assertThat(List.of("localhost", "LocalHost", "127.0.0.1", "127.1.2.3", "[::1]", "::1"))
                .allMatch(ThisMachine::isNamed);
        assertThat(List.of("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "[fe80::1]",
                "", "localhost.", "0.0.0.0", "999.1.1.1", "1.2.3.4.5")).noneMatch(ThisMachine::isNamed);
        assertThat(ThisMachine.isNamed(null)).isFalse();
    }
}
