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
 * @param keep        how many are shown on the management port; up to 4 KB each
 * @param file        where each is written as a line of JSON when it has ended; null: nowhere
 * @param maxFileSize beyond it the file is put aside as {@code <file>.1}, in place of the one before
 */
@Validated
@ConfigurationProperties(value = "warmpath.decisions", ignoreUnknownFields = false)
record DecisionProperties(
        @DefaultValue("1024") @Min(1) @Max(100_000) int keep,
        @Nullable Path file,
        @DefaultValue("64MB") DataSize maxFileSize) {

    private static final DataSize SMALLEST_FILE = DataSize.ofMegabytes(1);

    DecisionProperties {
        if (maxFileSize.compareTo(SMALLEST_FILE) < 0) {
            throw new IllegalArgumentException(
                    "warmpath.decisions.max-file-size is " + maxFileSize + ", and must be at least 1MB");
        }
    }
}
