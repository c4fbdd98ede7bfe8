package dev.warmpath.process;

import dev.warmpath.protocol.fleet.FleetToken;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;

/**
 * Who may change what a process does.
 *
 * @param token the secret of operators, for writes on the management port. A router needs it unless that port is bound to
 *              loopback; without it a worker takes the fleet's token
 * @param previousToken their secret until now, while it is changed: it is taken, too
 */
@ConfigurationProperties("warmpath.management")
public record ManagementProperties(@Nullable String token, @Nullable String previousToken) {

    public FleetToken operatorsToken() {
        return FleetToken.of(token, previousToken);
    }

    /** Never the token. */
    @Override
    public String toString() {
        return "ManagementProperties[]";
    }
}
