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
 * @param decisionHeaders answers say in {@code x-warmpath-*} headers which worker gave them and why
 * @param maxBody longest body, 1B to 2047MB; models of short contexts take less
 * @param unknownFields what becomes of a request with fields that nobody knows: it is refused, or they are ignored, and
 *                      the header x-warmpath-ignored-fields names them
 * @param heartbeat a stream that is silent for so long gets a comment, so that proxies keep it open; one whose client
 *                  takes nothing for four of them is given up
 */
@Validated
@ConfigurationProperties("warmpath.openai")
record ApiProperties(
        @DefaultValue("true") boolean decisionHeaders,
        @DefaultValue("16MB") @NotNull DataSize maxBody,
        @DefaultValue("refuse") @NotNull UnknownFields unknownFields,
        @DefaultValue("15s") @NotNull Duration heartbeat) {

    /** What becomes of fields that nobody knows. */
    enum UnknownFields { REFUSE, IGNORE }

    ApiProperties {
        if (maxBody.toBytes() < 1 || maxBody.toBytes() > Integer.MAX_VALUE) {
            throw new IllegalArgumentException("warmpath.openai.max-body is " + maxBody + ", allowed is 1B to 2047MB");
        }
        if (heartbeat.toMillis() < 1) {
            throw new IllegalArgumentException("warmpath.openai.heartbeat is " + heartbeat + ", it must be positive");
        }
    }
}
