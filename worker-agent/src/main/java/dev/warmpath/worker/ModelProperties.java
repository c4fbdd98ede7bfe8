package dev.warmpath.worker;

import dev.warmpath.worker.model.Quantization;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotNull;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * The model that this worker brings.
 *
 * @param directory the model: a folder in Hugging Face layout (config.json, tokenizer.json, tokenizer_config.json,
 *                  *.safetensors), or a GGUF file; of one that was split, the first
 * @param name what clients write as {@code model}; unset: the name of the folder, or of the file without .gguf, with
 *             hyphens for spaces and whatever else no name has
 * @param contextLength most tokens of prompt and answer together; unset: all that the model was made for. Workers with
 *                      another number are another revision
 * @param quantization of linear layers whose weights are stored in 16 or 32 bits: {@code none}, or {@code int8}, which
 *                     rounds them to 8.5 bits a weight while they are loaded; half the memory, and answers that differ
 *                     a little, so that it is another revision
 * @param digestCache the file that keeps digests of weights from start to start, by path, size and time of change; as
 *                    shipped {@code ~/.cache/warmpath/digests}. Where it cannot be written, each start reads all
 *                    weights once more
 * @param sharedWeights a folder in which workers of this host that serve the same model on its processors keep its
 *                      weights as they compute with them, once for all of them; it takes as much of the disk as the
 *                      weights of each model that is served from there. On a disk that writes in place, not in memory,
 *                      where pages are small. Unset: each has its own in memory. Linux only
 */
@Validated
@ConfigurationProperties("warmpath.model")
public record ModelProperties(@NotNull Path directory, @Nullable String name,
        @Nullable @Min(2) Integer contextLength, @DefaultValue("none") Quantization quantization,
        @Nullable Path digestCache, @Nullable Path sharedWeights) {

    /** Of a GGUF file, with the numbers of a split one. */
    private static final Pattern FILE_SUFFIX = Pattern.compile("(?i)(-\\d{5}-of-\\d{5})?\\.gguf$");
    /** A name as routers take it; more than that stands in no log, header or JSON without ado. */
    private static final Pattern NAME = Pattern.compile("[\\p{Graph}&&[^\"\\\\]]{1,256}");
    private static final Pattern NOT_IN_NAMES = Pattern.compile("[^\\p{Graph}]|[\"\\\\]");
    /** A folder in the cache of Hugging Face's own programs, {@code models--ORGANIZATION--NAME/snapshots/REVISION}. */
    private static final Pattern SNAPSHOT = Pattern.compile("models--(?:.*--)?(.+)");

    public ModelProperties {
        if (name != null && !name.isBlank() && !NAME.matcher(name).matches()) {
            throw new SettingsException("warmpath.model.name is '" + name + "', but a name is 1 to 256 ASCII "
                    + "characters without spaces, quotes and backslashes",
                    "Give such a one, or none, and the folder's is taken");
        }
    }

    public String servedName() {
        return name != null && !name.isBlank() ? name : NOT_IN_NAMES.matcher(pathName()).replaceAll("-");
    }

    private String pathName() {
        Path path = directory.toAbsolutePath().normalize();
        Path parent = path.getParent();
        if (parent == null) {
            return "model";
        }
        Path cached = parent.endsWith("snapshots") ? parent.getParent() : null;
        Matcher snapshot = SNAPSHOT.matcher(cached == null ? "" : String.valueOf(cached.getFileName()));
        return snapshot.matches() ? snapshot.group(1)
                : FILE_SUFFIX.matcher(path.getFileName().toString()).replaceFirst("");
    }
}
