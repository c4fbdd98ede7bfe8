package dev.warmpath.worker.model.source;

import dev.warmpath.worker.model.weights.GgufMetadata;
import java.util.Arrays;

/**
 * What llama.cpp calls an architecture, and how it differs from Hugging Face's model of the same weights. Source:
 * llama.cpp, conversion/ (one file a family) and gguf-py, tensor_mapping.py.
 */
enum GgufArchitecture {
    /** Mistral's models, too. */
    LLAMA("llama", "llama", /* turnsNeighbours */ true);

    private static final String KEY = "general.architecture";

    private final String name;
    /** {@code model_type} of its config.json. */
    final String modelType;
    /** Whether rows of queries and keys are stored for the rotation of neighbouring pairs. */
    final boolean turnsNeighbours;

    GgufArchitecture(String name, String modelType, boolean turnsNeighbours) {
        this.name = name;
        this.modelType = modelType;
        this.turnsNeighbours = turnsNeighbours;
    }

    /** @throws dev.warmpath.worker.model.weights.WeightFileException if it is none of these */
    static GgufArchitecture of(GgufMetadata metadata) {
        String text = metadata.text(KEY);
        return Arrays.stream(values()).filter(one -> one.name.equals(text)).findFirst()
                .orElseThrow(() -> metadata.refused(KEY, "is %s, takes %s".formatted(text,
                        Arrays.stream(values()).map(one -> one.name).toList())));
    }

    /** A key of the architecture's own. */
    String key(String suffix) {
        return name + "." + suffix;
    }

    boolean isOwn(String key) {
        return key.startsWith(name + ".");
    }
}
