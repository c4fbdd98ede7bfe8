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
 * @param max connections of each port; one more closes the one that has been idle longest
 * @param headerTimeout longest time from a connection's begin, or a later request's first byte, to the headers' end.
 *                      Between two requests it is {@code server.netty.idle-timeout}, 75s
 * @param bodyIdleTimeout longest silence within a body
 * @param bodyRate least of a body in a second, on average after the first {@code body-idle-timeout}
 * @param writeIdleTimeout how long a client may read nothing of its answer
 * @param writeRate least that a client reads in a second, on average after the first {@code write-idle-timeout} in
 *                  which there was always something left to read: who takes all that he is given is never slow
 */
@Validated
@ConfigurationProperties("warmpath.connections")
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
