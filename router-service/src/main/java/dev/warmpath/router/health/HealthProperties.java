package dev.warmpath.router.health;

import jakarta.validation.constraints.DecimalMin;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * When a worker that breathes is taken for sick.
 *
 * @param slowFactor a worker whose tokens take so many times the median of its revision gets no requests for a while;
 *                   more than the fastest device of a mixed fleet is faster than the slowest
 * @param unreachableAfter a worker that answers nothing of this router for so long is sent nothing
 */
@Validated
@ConfigurationProperties("warmpath.health")
public record HealthProperties(
        @DefaultValue("5") @DecimalMin("1.5") double slowFactor,
        @DefaultValue("3s") @DurationMin(millis = 100) Duration unreachableAfter) {}
