package dev.warmpath.worker;

import jakarta.validation.constraints.NotBlank;
import jakarta.validation.constraints.NotNull;
import jakarta.validation.constraints.Size;
import java.net.URI;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.validation.annotation.Validated;

/**
 * Who this worker is.
 *
 * @param id      its place in the fleet, unique; it survives restarts (a StatefulSet's pod name)
 * @param baseUrl where routers reach it
 */
@Validated
@ConfigurationProperties("warmpath.worker")
public record WorkerProperties(@NotBlank @Size(max = 128) String id, @NotNull URI baseUrl) {}
