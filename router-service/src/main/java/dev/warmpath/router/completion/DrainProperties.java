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
 * @param settle after SIGTERM: how long it goes on accepting although it is not ready, longer than load balancers take
 *               between two questions. With {@code timeout} and 20 s more it must stay below
 *               {@code warmpath.shutdown.deadline}
 * @param timeout how long answers may go on after {@code settle}; those left are ended with an error event
 */
@Validated
@ConfigurationProperties("warmpath.drain")
record DrainProperties(
        @DefaultValue("5s") @NotNull @DurationMin @DurationMax(hours = 1) Duration settle,
        @DefaultValue("120s") @NotNull @DurationMin @DurationMax(hours = 1) Duration timeout) {}
