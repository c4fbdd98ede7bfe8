package dev.warmpath.router.management;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;

/**
 * Who may change what this router does.
 *
 * @param token the secret of operators, for writes on the management port; needed unless that is bound to loopback
 */
@ConfigurationProperties("warmpath.management")
record ManagementProperties(@Nullable String token) {

    /** Never the token. */
    @Override
    public String toString() {
        return "ManagementProperties[]";
    }
}
