package dev.warmpath.worker.model;

import java.util.Arrays;

/**
 * The families that this worker knows, by the {@code model_type} of their {@code config.json}. A family is one file: it
 * says which keys of the configuration it understands, and composes a decoder from layers.
 */
public enum ModelFamily {

    LLAMA("llama") {
        @Override
        ModelConfig config(ConfigFile file) {
            return Llama.config(file);
        }

        @Override
        DecoderSpec decoder(ModelConfig config, WeightLoader weights) {
            return Llama.decoder(config, weights);
        }
    };

    private final String modelType;

    ModelFamily(String modelType) {
        this.modelType = modelType;
    }

    /** @throws UnsupportedModelException naming the model type, if no family has it */
    static ModelFamily of(ConfigFile file) {
        for (ModelFamily family : values()) {
            if (file.says("model_type", family.modelType)) {
                return family;
            }
        }
        throw file.refused("model_type",
                "takes " + String.join(", ", Arrays.stream(values()).map(family -> family.modelType).toList()));
    }

    /** @throws UnsupportedModelException naming key and value, if the file says anything that is not understood */
    abstract ModelConfig config(ConfigFile file);

    /** Puts the weights on the device. @throws UnsupportedModelException if one is missing or has another shape */
    abstract DecoderSpec decoder(ModelConfig config, WeightLoader weights);
}
