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
 * @param id      its place in the fleet, unique, 1 to 128 printable ASCII characters; it survives restarts (a StatefulSet's pod name)
 * @param baseUrl where routers reach it
 */
@Validated
@ConfigurationProperties("warmpath.worker")
public record WorkerProperties(@NotBlank @Pattern(regexp = "[\\x21-\\x7e]{1,128}") String id, @NotNull URI baseUrl) {}
