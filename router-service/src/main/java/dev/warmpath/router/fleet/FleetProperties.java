package dev.warmpath.router.fleet;

import dev.warmpath.protocol.fleet.FleetToken;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Positive;
import jakarta.validation.constraints.PositiveOrZero;
import java.time.Duration;
import java.util.Map;
import org.hibernate.validator.constraints.time.DurationMin;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * Who may join the fleet, and for how long.
 *
 * @param leaseDuration a worker that is silent for so long is removed: one that hangs after this, one that dies at
 *                      once. Workers send a heartbeat every second
 * @param token the secret that routers and workers share; without one, both ports and all workers must be on loopback
 * @param previousToken the fleet's token until now, while it is changed: what is proved with it is taken, too, and what
 *                      this process proves, it proves with both. To be taken away when all processes have the new one
 * @param maxWorkers workers in the fleet; one more is refused when it registers
 * @param revisionWeights how often a revision's capacity counts when new requests are shared, from the start:
 *                        {@code …revision-weights.REVISION=0.1}, 0 to 1,000; 0 drains it
 * @param pinnedRevisions the only revision that takes a model's new requests, from the start:
 *                        {@code …pinned-revisions[MODEL]=REVISION}
 */
@Validated
@ConfigurationProperties("warmpath.fleet")
public record FleetProperties(
        @DefaultValue("5s") @DurationMin(millis = 100) Duration leaseDuration,
        @Nullable String token,
        @Nullable String previousToken,
        @DefaultValue("1024") @Positive @Max(65_536) int maxWorkers,
        @DefaultValue Map<String, @PositiveOrZero @Max(1_000) Double> revisionWeights,
        @DefaultValue Map<String, String> pinnedRevisions) {

    public FleetToken fleetToken() {
        return FleetToken.of(token, previousToken);
    }

    /** Never the token. */
    @Override
    public String toString() {
        return "FleetProperties[leaseDuration=" + leaseDuration + ", maxWorkers=" + maxWorkers + "]";
    }
}
