package dev.warmpath.router.fleet;

import jakarta.validation.constraints.DecimalMin;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * When a worker that breathes is taken for sick.
 *
 * @param slowFactor a worker that takes so many times what the median of its revision takes is ejected; more than the
 *                   fastest device of a mixed fleet is faster than the slowest
 */
@Validated
@ConfigurationProperties(value = "warmpath.health", ignoreUnknownFields = false)
public record HealthProperties(@DefaultValue("5") @DecimalMin("1.5") double slowFactor) {}
