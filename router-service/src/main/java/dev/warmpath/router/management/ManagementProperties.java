package dev.warmpath.router.management;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;

/**
 * Who may change what this router does.
 *
 * @param token the secret of operators, for writes on the management port; without one, that port must be bound to
 *              loopback
 */
@ConfigurationProperties(value = "warmpath.management", ignoreUnknownFields = false)
record ManagementProperties(@Nullable String token) {

    /** Never the token. */
    @Override
    public String toString() {
        return "ManagementProperties[]";
    }
}
