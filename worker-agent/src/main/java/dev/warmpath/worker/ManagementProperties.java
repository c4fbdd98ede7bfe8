package dev.warmpath.worker;

import dev.warmpath.protocol.fleet.FleetToken;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;

/**
 * Who may change what this worker does.
 *
 * @param token the secret of operators, for writes on the management port: drain, reset-cache. Unset: they need the
 *              fleet's token
 * @param previousToken their secret until now, while it is changed: it is taken, too
 */
@ConfigurationProperties("warmpath.management")
record ManagementProperties(@Nullable String token, @Nullable String previousToken) {

    FleetToken operatorsToken() {
        return FleetToken.of(token, previousToken);
    }

    /** Never the token. */
    @Override
    public String toString() {
        return "ManagementProperties[]";
    }
}
