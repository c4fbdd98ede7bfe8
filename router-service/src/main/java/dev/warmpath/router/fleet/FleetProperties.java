package dev.warmpath.router.fleet;

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
 * @param leaseDuration a worker that is silent this long is removed; workers send a heartbeat every second
 * @param token         the secret that routers and workers share; without one, all addresses must be loopback
 * @param maxWorkers    registrations beyond this are refused
 * @param revisionWeights how often a revision's capacity counts when new requests are shared, by revision; 0 drains it
 * @param pinnedRevisions the only revision that takes a model's new requests, by the model's name
 */
@Validated
@ConfigurationProperties(value = "warmpath.fleet", ignoreUnknownFields = false)
public record FleetProperties(
        @DefaultValue("5s") @DurationMin(millis = 100) Duration leaseDuration,
        @Nullable String token,
        @DefaultValue("1024") @Positive @Max(65_536) int maxWorkers,
        @DefaultValue Map<String, @PositiveOrZero @Max(1_000) Double> revisionWeights,
        @DefaultValue Map<String, String> pinnedRevisions) {

    /** Never the token. */
    @Override
    public String toString() {
        return "FleetProperties[leaseDuration=" + leaseDuration + ", maxWorkers=" + maxWorkers + "]";
    }
}
