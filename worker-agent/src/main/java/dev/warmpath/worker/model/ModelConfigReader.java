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
 * Reads a Hugging Face {@code config.json} strictly: every key is understood, known to be harmless, or refuses the
 * start. A key that is skipped in silence is how a model serves wrong text. Source of names and defaults: transformers'
 * LlamaConfig.
 */
final class ModelConfigReader {

    private static final JsonMapper JSON = JsonMapper.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION).build();

    /** Values that the decoder uses. */
    private static final Set<String> UNDERSTOOD = Set.of("hidden_size", "num_hidden_layers", "num_attention_heads",
            "num_key_value_heads", "head_dim", "intermediate_size", "vocab_size", "max_position_embeddings",
            "rms_norm_eps", "rope_theta", "rope_parameters", "tie_word_embeddings");

    /**
     * Say how the model was trained or stored, or which tokens the caller cares for; change nothing in the arithmetic.
     */
    private static final Set<String> HARMLESS = Set.of("bos_token_id", "eos_token_id", "pad_token_id", "torch_dtype",
            "dtype", "transformers_version", "use_cache", "initializer_range", "attention_dropout", "_name_or_path",
            "pretraining_tp", "architectures");

    /** Off in every model this worker serves; any other value refuses the start. */
    private static final Set<String> MUST_BE_OFF = Set.of("rope_scaling", "sliding_window", "attention_bias",
            "mlp_bias", "quantization_config", "use_sliding_window");

    private final Path file;

    ModelConfigReader(Path file) {
        this.file = file;
    }

    ModelConfig read() throws IOException {
        JsonNode config = parse();
        config.properties().forEach(property -> requireKnown(property.getKey(), property.getValue()));
        requireText(config, "model_type", "llama");
        if (config.has("hidden_act")) {
            requireText(config, "hidden_act", "silu");
        }
        int hiddenSize = integer(config, "hidden_size");
        int headCount = integer(config, "num_attention_heads");
        return new ModelConfig(hiddenSize, integer(config, "num_hidden_layers"), headCount,
                integer(config, "num_key_value_heads", headCount),
                integer(config, "head_dim", hiddenSize / Math.max(1, headCount)),
                integer(config, "intermediate_size"), integer(config, "vocab_size"),
                integer(config, "max_position_embeddings"), (float) number(config, "rms_norm_eps", 1e-6), theta(config),
                bool(config, "tie_word_embeddings"));
    }

    private JsonNode parse() throws IOException {
        try {
            JsonNode config = JSON.readTree(Files.readAllBytes(file));
            if (config.isObject()) {
                return config;
            }
            throw new UnsupportedModelException(file + " is not a JSON object");
        } catch (JacksonException e) {
            throw new UnsupportedModelException(file + " is not JSON: " + e.getOriginalMessage());
        }
    }

    private void requireKnown(String key, JsonNode value) {
        if (MUST_BE_OFF.contains(key)) {
            if (!isOff(value)) {
                throw refused(key, value, "takes none");
            }
        } else if (!UNDERSTOOD.contains(key) && !HARMLESS.contains(key)
                && !key.equals("model_type") && !key.equals("hidden_act")) {
            throw refused(key, value, "which this worker does not understand");
        }
    }

    private static boolean isOff(JsonNode value) {
        return value.isNull() || value.isBoolean() && !value.booleanValue();
    }

    /** Older files hold {@code rope_theta}; newer ones an object, of which only the plain rotation is taken. */
    private double theta(JsonNode config) {
        JsonNode rope = config.path("rope_parameters");
        if (rope.isMissingNode() || rope.isNull()) {
            return number(config, "rope_theta", 10_000);
        }
        for (var property : rope.properties()) {
            String key = property.getKey();
            boolean plain = key.equals("rope_theta")
                    || key.equals("rope_type") && "default".equals(property.getValue().asString());
            if (!plain) {
                throw refused("rope_parameters." + key, property.getValue(), "takes the plain rotation");
            }
        }
        double theta = number(rope, "rope_theta", number(config, "rope_theta", 10_000));
        if (config.has("rope_theta") && number(config, "rope_theta", theta) != theta) {
            throw refused("rope_theta", config.path("rope_theta"), "but rope_parameters.rope_theta is " + theta);
        }
        return theta;
    }

    private void requireText(JsonNode config, String key, String wanted) {
        JsonNode value = config.path(key);
        if (!value.isString() || !value.stringValue().equals(wanted)) {
            throw refused(key, value, "takes " + wanted);
        }
    }

    private int integer(JsonNode config, String key) {
        JsonNode value = config.path(key);
        if (!value.isIntegralNumber() || !value.canConvertToInt()) {
            throw refused(key, value, "takes a whole number");
        }
        return value.intValue();
    }

    private int integer(JsonNode config, String key, int absent) {
        return config.path(key).isMissingNode() || config.path(key).isNull() ? absent : integer(config, key);
    }

    private double number(JsonNode config, String key, double absent) {
        JsonNode value = config.path(key);
        if (value.isMissingNode()) {
            return absent;
        }
        if (!value.isNumber()) {
            throw refused(key, value, "takes a number");
        }
        return value.doubleValue();
    }

    private boolean bool(JsonNode config, String key) {
        JsonNode value = config.path(key);
        if (!value.isMissingNode() && !value.isBoolean()) {
            throw refused(key, value, "takes true or false");
        }
        return value.isBoolean() && value.booleanValue();
    }

    private UnsupportedModelException refused(String key, JsonNode value, String why) {
        return new UnsupportedModelException("%s: %s is %s, %s".formatted(file, key,
                value.isMissingNode() ? "missing" : value, why));
    }
}
