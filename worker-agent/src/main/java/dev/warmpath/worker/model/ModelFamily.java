package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.GateActivation;
import java.util.Arrays;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The families that this worker knows, by the {@code model_type} of their {@code config.json}. A family is a line here,
 * which says what its layers are made of, and a file that says which keys of the configuration it understands.
 */
public enum ModelFamily {

    LLAMA("llama", "Llama", Anatomy.LLAMA, Llama::config),
    MISTRAL("mistral", "Mistral", Anatomy.LLAMA, Mistral::config),
    QWEN2("qwen2", "Qwen2", Anatomy.LLAMA.withBiases(), Qwen::config),
    QWEN3("qwen3", "Qwen3", Anatomy.LLAMA.withHeadNorms(), Qwen::config3),
    PHI3("phi3", "Phi3", Anatomy.LLAMA.fused(), Phi3::config),
    SMOLLM3("smollm3", "SmolLM3", Anatomy.LLAMA, SmolLm3::config),
    GRANITE("granite", "Granite", Anatomy.LLAMA, Granite::config),
    GEMMA("gemma", "Gemma", Anatomy.LLAMA.withShiftedNorms().with(GateActivation.GELU_TANH), Gemma::config),
    GEMMA2("gemma2", "Gemma2", GEMMA.anatomy.withOutputNorms(), Gemma::config2),
    GEMMA3("gemma3_text", "Gemma3", GEMMA2.anatomy.withHeadNorms(), Gemma::config3);

    /** Models of families in the clothes of one that sees pictures, by their model type. */
    private static final Set<String> SEEING = Set.of("gemma3", "mistral3");
    /** What their files say of pictures. */
    private static final String[] OF_PICTURES = {"vision_config", "mm_tokens_per_image", "boi_token_index",
        "eoi_token_index", "image_token_index", "multimodal_projector_bias", "projector_hidden_act",
        "spatial_merge_size", "vision_feature_layer"};

    private final String modelType;
    private final String classes;
    private final Anatomy anatomy;
    private final Function<ConfigFile, ModelConfig> reader;

    /**
     * @param classes prefix of the names that its classes have in transformers
     * @param reader  of the configuration; throws what {@link #config} throws
     */
    ModelFamily(String modelType, String classes, Anatomy anatomy, Function<ConfigFile, ModelConfig> reader) {
        this.modelType = modelType;
        this.classes = classes;
        this.anatomy = anatomy;
        this.reader = reader;
    }

    /**
     * Of a model that sees pictures, too, the text part: it is a model of a family, and pictures never come.
     * @throws UnsupportedModelException naming the model type, if no family has it, or else all that is wrong
     */
    static ModelConfig config(ConfigFile file) {
        String modelType = file.text("model_type", "");
        if (SEEING.contains(modelType)) {
            file.pass(OF_PICTURES);
            boolean tied = file.bool("tie_word_embeddings", false);
            ModelConfig text = config(file.part("text_config"));
            if (file.has("tie_word_embeddings") && tied != text.tiedEmbeddings()) {
                file.refuse("tie_word_embeddings", "but it is not in text_config");
                throw file.problem();
            }
            return text;
        }
        for (ModelFamily family : values()) {
            if (family.modelType.equals(modelType)) {
                file.requireOwnCode(family.classes);
                return family.reader.apply(file);
            }
        }
        file.refuse("model_type", "takes " + Stream.concat(Arrays.stream(values()).map(family -> family.modelType),
                SEEING.stream().sorted()).collect(Collectors.joining(", ")));
        throw file.problem();
    }

    /** What its layers are made of. */
    Anatomy anatomy() {
        return anatomy;
    }
}
