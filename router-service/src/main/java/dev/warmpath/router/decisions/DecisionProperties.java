package dev.warmpath.router.decisions;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;
import org.springframework.validation.annotation.Validated;

/**
 * What is kept of decisions.
 *
 * @param keep how many decisions {@code /actuator/decisions} shows, up to 4 KB of heap each
 * @param file where each request is written as a line of JSON, with its decisions, when it has ended; unset:
 *             nowhere
 * @param maxFileSize from what size on the file of decisions becomes {@code <file>.1}, in place of the one before, 1MB
 *                    at least
 * @param replay whether the lines of the file have what {@code ./warmpath plan} needs to decide and to simulate again:
 *               all that the policy saw, 1.5 KB with four workers, and the keys of the prompt's blocks, 11 bytes each.
 *               Keys are hashes: who can guess a prompt can find out whether it was sent
 */
@Validated
@ConfigurationProperties("warmpath.decisions")
record DecisionProperties(
        @DefaultValue("1024") @Min(1) @Max(100_000) int keep,
        @Nullable Path file,
        @DefaultValue("64MB") DataSize maxFileSize,
        @DefaultValue("false") boolean replay) {

    private static final DataSize SMALLEST_FILE = DataSize.ofMegabytes(1);

    DecisionProperties {
        if (maxFileSize.compareTo(SMALLEST_FILE) < 0) {
            throw new IllegalArgumentException(
                    "warmpath.decisions.max-file-size is " + maxFileSize + ", and must be at least 1MB");
        }
    }
}
