package dev.warmpath.router.management;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.protocol.fleet.FleetToken;
import org.junit.jupiter.api.Test;
import org.springframework.mock.env.MockEnvironment;

class FleetExposureTest {

    @Test
    void without_a_token_both_ports_must_be_bound_to_loopback() {
        assertRefused(new MockEnvironment(), "warmpath.fleet.token is not set, but server.address is not set either, "
                + "so the port is open to the network; anybody there could register as a worker and read prompts");
        assertRefused(new MockEnvironment().withProperty("server.address", "127.0.0.1")
                .withProperty("management.server.port", "9080")
                .withProperty("management.server.address", "0.0.0.0"),
                "warmpath.fleet.token is not set, but management.server.address is 0.0.0.0; anybody there could "
                        + "register as a worker and read prompts");
        for (String blank : new String[] {"", " "}) {              // as MANAGEMENT_SERVER_ADDRESS= says
            assertRefused(new MockEnvironment().withProperty("server.address", "127.0.0.1")
                    .withProperty("management.server.port", "9080").withProperty("management.server.address", blank),
                    "warmpath.fleet.token is not set, but management.server.address is not set either, so the port is "
                            + "open to the network; anybody there could register as a worker and read prompts");
        }
        assertThatCode(() -> FleetExposure.check(FleetToken.NONE, new MockEnvironment()
                .withProperty("server.address", "127.0.0.1").withProperty("management.server.port", "9080")
                .withProperty("management.server.address", "::1"))).doesNotThrowAnyException();
        assertThatCode(() -> FleetExposure.check(FleetToken.NONE, new MockEnvironment()
                .withProperty("server.address", "localhost"))).doesNotThrowAnyException();
    }

    @Test
    void with_a_token_any_address_will_do() {
        assertThatCode(() -> FleetExposure.check(FleetToken.of("hush"), new MockEnvironment()))
                .doesNotThrowAnyException();
    }

    @Test
    void without_a_token_for_operators_the_management_port_must_be_bound_to_loopback() {
        var open = new MockEnvironment().withProperty("server.address", "127.0.0.1")
                .withProperty("management.server.port", "9080").withProperty("management.server.address", "0.0.0.0");
        assertThatThrownBy(() -> FleetExposure.checkManagement(FleetToken.NONE, open))
                .hasMessage("warmpath.management.token is not set, but management.server.address is 0.0.0.0; anybody "
                        + "there could drain workers and revisions");
        assertThatCode(() -> FleetExposure.checkManagement(FleetToken.of("boss"), open)).doesNotThrowAnyException();
        assertThatCode(() -> FleetExposure.checkManagement(FleetToken.NONE, new MockEnvironment()
                .withProperty("server.address", "127.0.0.1"))).doesNotThrowAnyException();
    }

    private static void assertRefused(MockEnvironment environment, String message) {
        assertThatThrownBy(() -> FleetExposure.check(FleetToken.NONE, environment)).hasMessage(message);
    }
}
