package dev.warmpath.router.dispatch;

import jakarta.validation.constraints.NotNull;
import jakarta.validation.constraints.Positive;
import jakarta.validation.constraints.PositiveOrZero;
import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * How long and how often workers are asked.
 *
 * @param maxAttempts             workers that one request may be sent to, the first included: three sick ones fail none
 * @param retryShare              tries after the first that are allowed, as a share of the requests of the last 10 s
 * @param leastRetries            such tries within 10 s that are allowed however few requests there are
 * @param connectTimeout          for a connection to a worker
 * @param leastFirstTokenTimeout  a worker is waited for so long before its first token, however soon that is expected
 * @param firstTokenTimeout       and no longer than this, see {@link FirstTokenDeadline}
 * @param interTokenTimeout       likewise between two tokens, as long as the client reads: one that does not asks for none
 * @param maxConnectionsPerWorker connections to one worker, each carrying one request at a time; one too many is
 *                                treated as a worker whose queue is full
 */
@Validated
@ConfigurationProperties(value = "warmpath.dispatch", ignoreUnknownFields = false)
record DispatchProperties(
        @DefaultValue("4") @Positive int maxAttempts,
        @DefaultValue("0.2") @PositiveOrZero double retryShare,
        @DefaultValue("30") @PositiveOrZero int leastRetries,
        @DefaultValue("2s") @NotNull Duration connectTimeout,
        @DefaultValue("3s") @NotNull Duration leastFirstTokenTimeout,
        @DefaultValue("60s") @NotNull Duration firstTokenTimeout,
        @DefaultValue("30s") @NotNull Duration interTokenTimeout,
        @DefaultValue("512") @Positive int maxConnectionsPerWorker) {}
