package dev.warmpath.worker.routerlink;

import jakarta.validation.constraints.NotNull;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * Where the routers are.
 *
 * @param urls              management ports of the routers; a name is resolved again and again, each address is a
 *                          router
 * @param token             the secret that routers and workers share, or none on one machine
 * @param heartbeatInterval routers remove a worker after five seconds of silence
 */
@Validated
@ConfigurationProperties("warmpath.routerlink")
public record RouterLinkProperties(
        @DefaultValue @NotNull List<URI> urls,
        @Nullable String token,
        @DefaultValue("1s") @DurationMin(millis = 10) @DurationMax(seconds = 4) Duration heartbeatInterval) {

    public RouterLinkProperties {
        for (URI url : urls) {
            if (url.getHost() == null || url.getScheme() == null || !url.getScheme().matches("https?")) {
                throw new IllegalArgumentException("warmpath.routerlink.urls has '" + url
                        + "', but a router's management address looks like http://router:9080");
            }
        }
    }

    /** Never the token. */
    @Override
    public String toString() {
        return "RouterLinkProperties[urls=" + urls + ", heartbeatInterval=" + heartbeatInterval + "]";
    }
}
