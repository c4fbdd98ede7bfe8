package dev.warmpath.router.management;

import dev.warmpath.protocol.fleet.FleetToken;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.core.env.Environment;

/** A router that others can reach must not take registrations from everybody: who registers gets to read prompts. */
final class FleetExposure {

    private static final List<String> ADDRESS_PROPERTIES = List.of("server.address", "management.server.address");

    private FleetExposure() {}

    /** @throws FleetExposedException if there is no token and some port is bound to more than loopback */
    static void check(FleetToken token, Environment environment) {
        for (String property : ADDRESS_PROPERTIES) {
            String address = environment.getProperty(property);
            boolean ownPort = property.equals("server.address")
                    || environment.containsProperty("management.server.port");
            if (ownPort && !token.allowsBinding(address)) {
                throw new FleetExposedException("warmpath.fleet.token", property, address,
                        "register as a worker and read prompts");
            }
        }
    }

    /** @throws FleetExposedException if operators have no token and the management port is bound to more than loopback */
    static void checkManagement(FleetToken token, Environment environment) {
        boolean ownPort = environment.containsProperty("management.server.port");
        String property = ownPort ? "management.server.address" : "server.address";
        String address = environment.getProperty(property);
        if (!token.allowsBinding(address)) {
            throw new FleetExposedException("warmpath.management.token", property, address,
                    "drain workers and revisions");
        }
    }

    static final class FleetExposedException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        private final String missing;

        /** @param harm what anybody could do */
        FleetExposedException(String missing, String property, @Nullable String address, String harm) {
            super(missing + " is not set, but " + property + " is "
                    + (address == null || address.isBlank() ? "not set either, so the port is open to the network" : address)
                    + "; anybody there could " + harm);
            this.missing = missing;
        }
    }

    /** Prints the sentence in place of a stack trace. Named in META-INF/spring.factories. */
    static final class Analyzer extends AbstractFailureAnalyzer<FleetExposedException> {
        @Override
        protected FailureAnalysis analyze(Throwable rootFailure, FleetExposedException cause) {
            return new FailureAnalysis(cause.getMessage(),
                    "Set " + cause.missing + ", the same on all processes that have it; or, on one machine, bind both "
                            + "ports to it: server.address=127.0.0.1 and management.server.address=127.0.0.1", cause);
        }
    }
}
