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
 * @param maxInFlight requests that may be under way at the same time, waiting for their first token included; one more
 *                    gets 503 with {@code retry-after}. 0: four times what the ready workers compute at the same time
 *                    ({@code max-num-seqs}), at least 512
 * @param maxWait longest wait that a request may expect for its turn at a worker; beyond it 503 at once,
 *                {@code retry-after} tells the expected wait. What its own prompt takes is not counted. Shorter:
 *                earlier first tokens under overload, more refusals in a burst. It asks nobody who he is: what a single
 *                client may use is limited by its key, see {@code warmpath.api-keys.file}
 * @param bodyHeapShare share of the heap for the bodies of requests in flight: 2 bytes for each that has come, 5 and 64
 *                      for each value in it while it is read, 3 after that; more gets 503 with {@code retry-after}, and
 *                      so does at once whose declared length could not be read now
 */
@Validated
@ConfigurationProperties("warmpath.admission")
record AdmissionProperties(
        @DefaultValue("0") @PositiveOrZero int maxInFlight,
        @DefaultValue("1s") @DurationMin(millis = 1) Duration maxWait,
        @DefaultValue("0.5") @DecimalMin("0.05") @DecimalMax("0.8") double bodyHeapShare) {}
