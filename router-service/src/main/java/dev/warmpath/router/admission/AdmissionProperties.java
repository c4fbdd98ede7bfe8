package dev.warmpath.router.admission;

import jakarta.validation.constraints.Positive;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * Limits on the work accepted before callers are told to come back.
 *
 * @param maxInFlight completions that may be under way at the same time, waiting for their first token included
 */
@Validated
@ConfigurationProperties(value = "warmpath.admission", ignoreUnknownFields = false)
record AdmissionProperties(@DefaultValue("512") @Positive int maxInFlight) {}
