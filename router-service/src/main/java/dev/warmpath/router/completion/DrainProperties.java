package dev.warmpath.router.completion;

import jakarta.validation.constraints.NotNull;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * How a router ends.
 *
 * @param settle  how long it goes on accepting after it has said that it is not ready: load balancers find that out by
 *                asking, so longer than they take between two questions
 * @param timeout how long answers may go on after that; those left are ended with an error event
 */
@Validated
@ConfigurationProperties(value = "warmpath.drain", ignoreUnknownFields = false)
record DrainProperties(
        @DefaultValue("5s") @NotNull @DurationMin @DurationMax(hours = 1) Duration settle,
        @DefaultValue("120s") @NotNull @DurationMin @DurationMax(hours = 1) Duration timeout) {}
