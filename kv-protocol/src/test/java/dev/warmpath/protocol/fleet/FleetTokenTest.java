package dev.warmpath.protocol.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class FleetTokenTest {

    @Test
    void a_token_is_proved_by_its_bearer_header_only() {
        FleetToken token = FleetToken.of("hush");

        assertThat(token.header()).isEqualTo("Bearer hush");
        assertThat(token.isProvedBy("Bearer hush")).isTrue();
        assertThat(token.isProvedBy("Bearer hus")).isFalse();
        assertThat(token.isProvedBy("hush")).isFalse();
        assertThat(token.isProvedBy(null)).isFalse();
        assertThat(token).hasToString("FleetToken[set]");
    }

    @Test
    void a_fleet_without_a_token_asks_for_none() {
        assertThat(FleetToken.of(" ").isNone()).isTrue();
        assertThat(FleetToken.of(null).isProvedBy(null)).isTrue();
        assertThat(FleetToken.NONE.header()).isNull();
    }
}
