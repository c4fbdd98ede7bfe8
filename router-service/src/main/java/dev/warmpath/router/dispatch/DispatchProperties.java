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
 * @param maxAttempts workers that one request may be sent to, the first included: three sick ones fail none
 * @param retryShare tries beyond the first, as a share of the requests of the last 10 s
 * @param leastRetries how many such tries there may be within 10 s however few requests there are
 * @param connectTimeout longest wait for a connection to a worker
 * @param leastFirstTokenTimeout a worker is waited for eight times as long as it, or while that is unknown its
 *                               revision, typically takes to a first token for as much work; at least so long. While
 *                               neither is known, and where no other worker is left to ask, it is
 *                               {@code first-token-timeout}
 * @param firstTokenTimeout longest wait for a silent worker's first token; one that is silent when its lease is lost is
 *                          waited for a second
 * @param interTokenTimeout longest wait between two tokens, while the client reads: one that does not asks for none
 * @param maxConnectionsPerWorker connections of one event loop, of which there is one a processor, to one worker, each
 *                                carrying one request at a time; one too many is treated as a worker whose queue is full
 */
@Validated
@ConfigurationProperties("warmpath.dispatch")
record DispatchProperties(
        @DefaultValue("4") @Positive int maxAttempts,
        @DefaultValue("0.2") @PositiveOrZero double retryShare,
        @DefaultValue("30") @PositiveOrZero int leastRetries,
        @DefaultValue("2s") @NotNull Duration connectTimeout,
        @DefaultValue("3s") @NotNull Duration leastFirstTokenTimeout,
        @DefaultValue("60s") @NotNull Duration firstTokenTimeout,
        @DefaultValue("30s") @NotNull Duration interTokenTimeout,
        @DefaultValue("512") @Positive int maxConnectionsPerWorker) {}
