package dev.warmpath.worker;

import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotNull;
import java.nio.file.Path;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.validation.annotation.Validated;

/**
 * The model that this worker brings.
 *
 * @param directory the model: a folder in Hugging Face layout (config.json, tokenizer.json, tokenizer_config.json,
 *                  *.safetensors), or a GGUF file; of one that was split, the first
 * @param name what clients write as {@code model}; unset: the name of the folder, or of the file without .gguf
 * @param contextLength most tokens of prompt and answer together; unset: all that the model was made for. Workers with
 *                      another number are another revision
 * @param digestCache the file that keeps digests of weights from start to start, by path, size and time of change; as
 *                    shipped {@code ~/.cache/warmpath/digests}. Where it cannot be written, each start reads all
 *                    weights once more
 */
@Validated
@ConfigurationProperties("warmpath.model")
public record ModelProperties(@NotNull Path directory, @Nullable String name,
        @Nullable @Min(2) Integer contextLength, @Nullable Path digestCache) {

    /** Of a GGUF file, with the numbers of a split one. */
    private static final Pattern FILE_SUFFIX = Pattern.compile("(?i)(-\\d{5}-of-\\d{5})?\\.gguf$");

    public String servedName() {
        return name != null && !name.isBlank() ? name
                : FILE_SUFFIX.matcher(directory.toAbsolutePath().normalize().getFileName().toString()).replaceFirst("");
    }
}
