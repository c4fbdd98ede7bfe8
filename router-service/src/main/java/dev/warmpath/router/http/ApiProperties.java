package dev.warmpath.router.http;

import jakarta.validation.constraints.NotNull;
import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;
import org.springframework.validation.annotation.Validated;

/**
 * The public API's own settings.
 *
 * @param decisionHeaders whether answers say which worker gave them and why, in {@code x-warmpath-*} headers
 * @param maxBody         longest request body
 * @param heartbeat       a stream that is silent for this long gets a comment, so that proxies keep it open
 */
@Validated
@ConfigurationProperties(value = "warmpath.openai", ignoreUnknownFields = false)
record ApiProperties(
        @DefaultValue("true") boolean decisionHeaders,
        @DefaultValue("16MB") @NotNull DataSize maxBody,
        @DefaultValue("15s") @NotNull Duration heartbeat) {

    ApiProperties {
        if (maxBody.toBytes() < 1 || maxBody.toBytes() > Integer.MAX_VALUE) {
            throw new IllegalArgumentException("warmpath.openai.max-body is " + maxBody + ", allowed is 1B to 2047MB");
        }
        if (heartbeat.toMillis() < 1) {
            throw new IllegalArgumentException("warmpath.openai.heartbeat is " + heartbeat + ", it must be positive");
        }
    }
}
