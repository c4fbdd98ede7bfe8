package dev.warmpath.worker;

import jakarta.validation.constraints.NotBlank;
import jakarta.validation.constraints.NotNull;
import jakarta.validation.constraints.Pattern;
import java.net.URI;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.validation.annotation.Validated;

/**
 * Who this worker is.
 *
 * @param id the worker's place in the fleet, unique: 1 to 128 letters, digits, dots, underscores and hyphens; it
 *           survives restarts (a StatefulSet's pod name)
 * @param baseUrl where routers reach this worker
 */
@Validated
@ConfigurationProperties("warmpath.worker")
public record WorkerProperties(@NotBlank @Pattern(regexp = "[A-Za-z0-9][A-Za-z0-9._-]{0,127}") String id, @NotNull URI baseUrl) {}
