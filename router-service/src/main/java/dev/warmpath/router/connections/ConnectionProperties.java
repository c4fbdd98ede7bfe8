package dev.warmpath.router.connections;

import jakarta.validation.constraints.NotNull;
import jakarta.validation.constraints.Positive;
import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;
import org.springframework.validation.annotation.Validated;

/**
 * What clients may cost by their connections alone.
 *
 * @param max              connections of a port; one more closes the one that has been idle longest
 * @param headerTimeout    longest time from a connection's begin, or a later request's first byte, to the headers' end
 * @param bodyIdleTimeout  longest silence within a body
 * @param bodyRate         least of a body in a second, on average after the first {@code bodyIdleTimeout}
 * @param writeIdleTimeout how long a client may read nothing of an answer
 * @param writeRate        least that it reads in a second, on average after the first {@code writeIdleTimeout} in which
 *                         there was always something left to read
 */
@Validated
@ConfigurationProperties(value = "warmpath.connections", ignoreUnknownFields = false)
record ConnectionProperties(
        @DefaultValue("10000") @Positive int max,
        @DefaultValue("10s") @NotNull Duration headerTimeout,
        @DefaultValue("30s") @NotNull Duration bodyIdleTimeout,
        @DefaultValue("16KB") @NotNull DataSize bodyRate,
        @DefaultValue("60s") @NotNull Duration writeIdleTimeout,
        @DefaultValue("8KB") @NotNull DataSize writeRate) {

    ConnectionProperties {
        refuseUnderAMillisecond("header-timeout", headerTimeout);
        refuseUnderAMillisecond("body-idle-timeout", bodyIdleTimeout);
        refuseUnderAMillisecond("write-idle-timeout", writeIdleTimeout);
    }

    private static void refuseUnderAMillisecond(String name, Duration value) {
        if (value.toMillis() < 1) {
            throw new IllegalArgumentException(
                    "warmpath.connections." + name + " is " + value + ", it must be a millisecond at least");
        }
    }
}
