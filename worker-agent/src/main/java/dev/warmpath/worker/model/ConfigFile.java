package dev.warmpath.worker.model;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import tools.jackson.core.JacksonException;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * A Hugging Face {@code config.json}, read strictly: every key is understood by the model's family, known to be
 * harmless, or refuses the start. A key that is skipped in silence is how a model serves wrong text.
 */
final class ConfigFile {

    private static final JsonMapper JSON = JsonMapper.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION).build();

    /**
     * Say how the model was trained or stored, or which tokens the caller cares for; change nothing in the arithmetic.
     */
    private static final Set<String> HARMLESS = Set.of("bos_token_id", "eos_token_id", "pad_token_id", "torch_dtype",
            "dtype", "transformers_version", "use_cache", "initializer_range", "attention_dropout", "_name_or_path",
            "pretraining_tp", "architectures");

    private final Path file;
    private final JsonNode config;

    private ConfigFile(Path file, JsonNode config) {
        this.file = file;
        this.config = config;
    }

    /**
     * @throws UnsupportedModelException if it is not a JSON object
     * @throws IOException if it cannot be read
     */
    static ConfigFile read(Path file) throws IOException {
        return of(file, Files.readAllBytes(file));
    }

    /**
     * @param file for messages
     * @throws UnsupportedModelException if the content is not a JSON object
     */
    static ConfigFile of(Path file, byte[] content) {
        try {
            JsonNode config = JSON.readTree(content);
            if (config.isObject()) {
                return new ConfigFile(file, config);
            }
            throw new UnsupportedModelException(file + " is not a JSON object");
        } catch (JacksonException e) {
            throw new UnsupportedModelException(file + " is not JSON: " + e.getOriginalMessage());
        }
    }

    /**
     * @param understood keys whose values the family uses
     * @param mustBeOff  keys that are false or null in every model of the family that is served
     * @throws UnsupportedModelException naming the first key that is neither, or on
     */
    void requireKnown(Set<String> understood, Set<String> mustBeOff) {
        config.properties().forEach(property -> {
            String key = property.getKey();
            if (mustBeOff.contains(key)) {
                if (!isOff(property.getValue())) {
                    throw refused(key, "takes none");
                }
            } else if (!understood.contains(key) && !HARMLESS.contains(key)) {
                throw refused(key, "which this worker does not understand");
            }
        });
    }

    private static boolean isOff(JsonNode value) {
        return value.isNull() || value.isBoolean() && !value.booleanValue();
    }

    boolean has(String key) {
        return config.has(key);
    }

    /** True if the key is there with this text. */
    boolean says(String key, String text) {
        JsonNode value = config.path(key);
        return value.isString() && value.stringValue().equals(text);
    }

    /** Older files hold {@code rope_theta}; newer ones an object, of which only the plain rotation is taken. */
    double ropeTheta() {
        JsonNode rope = config.path("rope_parameters");
        if (rope.isMissingNode() || rope.isNull()) {
            return number("rope_theta", 10_000);
        }
        for (var property : rope.properties()) {
            String key = property.getKey();
            boolean plain = key.equals("rope_theta")
                    || key.equals("rope_type") && "default".equals(property.getValue().asString());
            if (!plain) {
                throw refused("rope_parameters." + key, property.getValue(), "takes the plain rotation");
            }
        }
        double theta = number(rope, "rope_theta", number("rope_theta", 10_000));
        if (config.has("rope_theta") && number("rope_theta", theta) != theta) {
            throw refused("rope_theta", "but rope_parameters.rope_theta is " + theta);
        }
        return theta;
    }

    int integer(String key) {
        JsonNode value = config.path(key);
        if (!value.isIntegralNumber() || !value.canConvertToInt()) {
            throw refused(key, "takes a whole number");
        }
        return value.intValue();
    }

    int integer(String key, int absent) {
        return config.path(key).isMissingNode() || config.path(key).isNull() ? absent : integer(key);
    }

    double number(String key, double absent) {
        return number(config, key, absent);
    }

    private double number(JsonNode object, String key, double absent) {
        JsonNode value = object.path(key);
        if (value.isMissingNode()) {
            return absent;
        }
        if (!value.isNumber()) {
            throw refused(key, value, "takes a number");
        }
        return value.doubleValue();
    }

    boolean bool(String key) {
        JsonNode value = config.path(key);
        if (!value.isMissingNode() && !value.isBoolean()) {
            throw refused(key, "takes true or false");
        }
        return value.isBoolean() && value.booleanValue();
    }

    /** @param why a clause that follows the value */
    UnsupportedModelException refused(String key, String why) {
        return refused(key, config.path(key), why);
    }

    private UnsupportedModelException refused(String key, JsonNode value, String why) {
        return new UnsupportedModelException("%s: %s is %s, %s".formatted(file, key,
                value.isMissingNode() ? "missing" : value, why));
    }
}
