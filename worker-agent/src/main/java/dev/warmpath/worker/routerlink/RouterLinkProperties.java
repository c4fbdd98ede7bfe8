package dev.warmpath.worker.routerlink;

import dev.warmpath.protocol.fleet.FleetToken;
import jakarta.validation.constraints.NotNull;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * Where the routers are.
 *
 * @param urls management addresses of the routers; a name that resolves to several means all of them, looked up every 5
 *             s; one that gives no answer stands for what it stood for, and the log says so
 * @param token the fleet's secret, better given as {@code warmpath.fleet.token}
 * @param previousToken the fleet's secret until now, better given as {@code warmpath.fleet.previous-token}
 * @param heartbeatInterval time between two heartbeats; routers miss a worker after their
 *                          {@code warmpath.fleet.lease-duration}
 * @param earlyHeartbeatInterval where several routers use this worker, it also tells them when it has taken a request
 *                               or a first token is there, this long after the last heartbeat at the earliest; 0 = it
 *                               does not, else at least 10ms; likewise whenever somebody begins or ends to step it by
 *                               hand
 */
@Validated
@ConfigurationProperties("warmpath.routerlink")
public record RouterLinkProperties(
        @DefaultValue @NotNull List<URI> urls,
        @Nullable String token,
        @Nullable String previousToken,
        @DefaultValue("1s") @DurationMin(millis = 10) @DurationMax(seconds = 4) Duration heartbeatInterval,
        @DefaultValue("50ms") @DurationMin @DurationMax(seconds = 1) Duration earlyHeartbeatInterval) {

    private static final Duration SHORTEST_EARLY_INTERVAL = Duration.ofMillis(10);

    public RouterLinkProperties {
        for (URI url : urls) {
            if (url.getHost() == null || url.getScheme() == null || !url.getScheme().matches("https?")) {
                throw new IllegalArgumentException("warmpath.routerlink.urls has '" + url
                        + "', but a router's management address looks like http://router:9080");
            }
        }
        if (earlyHeartbeatInterval.isPositive() && earlyHeartbeatInterval.compareTo(SHORTEST_EARLY_INTERVAL) < 0) {
            throw new IllegalArgumentException("warmpath.routerlink.early-heartbeat-interval is "
                    + earlyHeartbeatInterval + ", it must be 0 or at least " + SHORTEST_EARLY_INTERVAL.toMillis()
                    + "ms");
        }
    }

    public FleetToken fleetToken() {
        return FleetToken.of(token, previousToken);
    }

    /** Never the token. */
    @Override
    public String toString() {
        return "RouterLinkProperties[urls=" + urls + ", heartbeatInterval=" + heartbeatInterval
                + ", earlyHeartbeatInterval=" + earlyHeartbeatInterval + "]";
    }
}
