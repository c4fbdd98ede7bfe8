package dev.warmpath.worker;

import jakarta.validation.constraints.NotNull;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * How a worker ends.
 *
 * @param timeout how long requests that it has taken may go on after SIGTERM; those left are ended. Whoever runs it
 *                must wait a little longer before SIGKILL
 */
@Validated
@ConfigurationProperties("warmpath.drain")
record DrainProperties(@DefaultValue("120s") @NotNull @DurationMin @DurationMax(hours = 1) Duration timeout) {}
