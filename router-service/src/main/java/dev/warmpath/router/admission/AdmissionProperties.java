package dev.warmpath.router.admission;

import jakarta.validation.constraints.DecimalMax;
import jakarta.validation.constraints.DecimalMin;
import jakarta.validation.constraints.Positive;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * Limits on the work accepted before callers are told to come back.
 *
 * @param maxInFlight   requests that may be under way at the same time, waiting for their first token included
 * @param bodyHeapShare share of the heap that their bodies may take, and what is read from them
 */
@Validated
@ConfigurationProperties(value = "warmpath.admission", ignoreUnknownFields = false)
record AdmissionProperties(
        @DefaultValue("512") @Positive int maxInFlight,
        @DefaultValue("0.5") @DecimalMin("0.05") @DecimalMax("0.8") double bodyHeapShare) {}
