package dev.warmpath.router.admission;

import jakarta.validation.constraints.DecimalMax;
import jakarta.validation.constraints.DecimalMin;
import jakarta.validation.constraints.PositiveOrZero;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * Limits on the work accepted before callers are told to come back.
 *
 * @param maxInFlight   requests that may be under way at the same time, waiting for their first token included; 0: as
 *                      many as the fleet's capacity asks for, see {@link AdmissionControl}
 * @param maxWait       a request that would wait longer than this for its turn at a worker is refused
 * @param bodyHeapShare share of the heap that their bodies may take, and what is read from them
 */
@Validated
@ConfigurationProperties(value = "warmpath.admission", ignoreUnknownFields = false)
record AdmissionProperties(
        @DefaultValue("0") @PositiveOrZero int maxInFlight,
        @DefaultValue("1s") @DurationMin(millis = 1) Duration maxWait,
        @DefaultValue("0.5") @DecimalMin("0.05") @DecimalMax("0.8") double bodyHeapShare) {}
