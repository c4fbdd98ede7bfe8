package dev.warmpath.router.keys;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.validation.annotation.Validated;

/**
 * Who may use the public API.
 *
 * @param file who may use the public API: a line for each key, {@code NAME sha256:HEX}, and behind it, as wanted,
 *             {@code operator}, {@code requests-per-minute=N} and {@code tokens-per-minute=N}; {@code ./warmpath key}
 *             makes both. A change counts within seconds, without a restart. Unset: no key is asked for; empty or
 *             missing: nobody gets in
 */
@Validated
@ConfigurationProperties("warmpath.api-keys")
record ApiKeyProperties(@Nullable Path file) {}
