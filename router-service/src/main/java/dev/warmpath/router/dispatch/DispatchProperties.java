package dev.warmpath.router.dispatch;

import jakarta.validation.constraints.NotNull;
import jakarta.validation.constraints.Positive;
import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * How long and how often workers are asked.
 *
 * @param maxAttempts             workers that one request may be sent to, the first included; three sick ones fail nobody
 * @param connectTimeout          for a connection to a worker
 * @param firstTokenTimeout       a worker that has not sent a token for this long has failed the request
 * @param interTokenTimeout       likewise between two tokens; since nothing is read ahead of the client, one that reads
 *                                nothing for so long ends its answer, too
 * @param maxConnectionsPerWorker connections to one worker, each carrying one request at a time; one too many is
 *                                treated as a worker whose queue is full
 */
@Validated
@ConfigurationProperties(value = "warmpath.dispatch", ignoreUnknownFields = false)
record DispatchProperties(
        @DefaultValue("4") @Positive int maxAttempts,
        @DefaultValue("2s") @NotNull Duration connectTimeout,
        @DefaultValue("60s") @NotNull Duration firstTokenTimeout,
        @DefaultValue("30s") @NotNull Duration interTokenTimeout,
        @DefaultValue("512") @Positive int maxConnectionsPerWorker) {}
