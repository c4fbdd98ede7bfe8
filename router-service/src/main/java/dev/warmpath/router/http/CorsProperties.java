package dev.warmpath.router.http;

import java.util.List;
import java.util.regex.Pattern;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Which web pages may use the public API from their readers' browsers.
 *
 * @param allowedOrigins where pages come from whose scripts may use the API: {@code https://chat.example.org}, several,
 *                       or {@code *} for all; what pages from elsewhere send is refused with 403. Unset: no answer
 *                       speaks of pages, and browsers keep it from those of another origin
 */
@ConfigurationProperties("warmpath.cors")
record CorsProperties(@DefaultValue List<String> allowedOrigins) {

    static final String ANY = "*";
    private static final Pattern ORIGIN = Pattern.compile("[A-Za-z][A-Za-z0-9+.-]*://[^/?#*@\\s]+");

    CorsProperties {
        allowedOrigins = List.copyOf(allowedOrigins);
        for (String origin : allowedOrigins) {
            if (!origin.equals(ANY) && !ORIGIN.matcher(origin).matches()) {
                throw new IllegalArgumentException("warmpath.cors.allowed-origins has '" + origin
                        + "', it takes scheme, host and port, as https://chat.example.org, or * for all");
            }
        }
    }
}
