package dev.warmpath.worker.model.source;

import dev.warmpath.worker.model.weights.GgufMetadata;
import java.util.Arrays;
import java.util.function.Consumer;

/**
 * What llama.cpp calls an architecture, and how it differs from Hugging Face's model of the same weights: in which
 * order rows of queries and keys lie, what norms hold, and which keys tell what else there is. Source: llama.cpp,
 * conversion/ (one file a family) and src/models/.
 */
enum GgufArchitecture {
    /** Mistral's models, too. */
    LLAMA("llama", "llama", Rows.OF_NEIGHBOURS, Norms.AS_THEY_ARE, GgufArchitecture::llama),
    QWEN2("qwen2", "qwen2", Rows.OF_HALVES, Norms.AS_THEY_ARE, GgufArchitecture::plain),
    QWEN3("qwen3", "qwen3", Rows.OF_HALVES, Norms.AS_THEY_ARE, GgufArchitecture::plain),
    PHI3("phi3", "phi3", Rows.OF_HALVES, Norms.AS_THEY_ARE, GgufArchitecture::phi3),
    SMOLLM3("smollm3", "smollm3", Rows.OF_NEIGHBOURS, Norms.AS_THEY_ARE, GgufArchitecture::plain),
    GRANITE("granite", "granite", Rows.OF_NEIGHBOURS, Norms.AS_THEY_ARE, GgufArchitecture::granite),
    GEMMA("gemma", "gemma", Rows.OF_HALVES, Norms.PLUS_ONE, GgufArchitecture::gemma),
    GEMMA2("gemma2", "gemma2", Rows.OF_HALVES, Norms.PLUS_ONE, GgufArchitecture::gemma2),
    GEMMA3("gemma3", "gemma3_text", Rows.OF_HALVES, Norms.PLUS_ONE, GgufArchitecture::gemma3);

    private static final String KEY = "general.architecture";

    /** What the rotation turns against each other, by which rows of queries and keys are stored. */
    private enum Rows { OF_NEIGHBOURS, OF_HALVES }

    /** What norms hold. */
    private enum Norms { AS_THEY_ARE, PLUS_ONE }

    private final String name;
    private final String modelType;
    private final Rows rows;
    private final Norms norms;
    private final Consumer<GgufConfig> rest;

    /**
     * @param modelType of its config.json
     * @param rest      puts there what is its own
     */
    GgufArchitecture(String name, String modelType, Rows rows, Norms norms, Consumer<GgufConfig> rest) {
        this.name = name;
        this.modelType = modelType;
        this.rows = rows;
        this.norms = norms;
        this.rest = rest;
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

    boolean turnsNeighbours() {
        return rows == Rows.OF_NEIGHBOURS;
    }

    /** What the writer of such a file has added to every norm. */
    double addedToNorms() {
        return norms == Norms.PLUS_ONE ? 1 : 0;
    }

    /** Whether blocks of a layer have norms of what they make, too. */
    boolean hasOutputNorms() {
        return this == GEMMA2 || this == GEMMA3;
    }

    boolean isFused() {
        return this == PHI3;
    }

    /** Puts what all have, and what is this one's own. */
    void complete(GgufConfig config) {
        config.put("model_type", modelType);
        rest.accept(config);
    }

    private static void plain(GgufConfig config) {
        config.put("hidden_act", "silu");
    }

    private static void llama(GgufConfig config) {
        plain(config);
        config.put("attention_bias", config.hasTensor("blk.0.attn_q.bias"));
        config.put("mlp_bias", config.hasTensor("blk.0.ffn_up.bias"));
        // of the oldest files, and the only one that there ever was
        config.require("tensor_data_layout", "Meta AI original pth");
    }

    /** A window of 0 is none. */
    private static void phi3(GgufConfig config) {
        plain(config);
        int window = config.count("attention.sliding_window", 0);
        if (window > 0) {
            config.put("sliding_window", window);
        }
    }

    /** Where the file has no multiplier of attention, its scores are scaled as everybody's. */
    private static void granite(GgufConfig config) {
        plain(config);
        config.put("attention_multiplier", config.number("attention.scale", 1 / Math.sqrt(config.headSize())));
        config.put("embedding_multiplier", config.number("embedding_scale", 1));
        config.put("residual_multiplier", config.number("residual_scale", 1));
        config.put("logits_scaling", config.number("logit_scale", 1));
    }

    private static void gemma(GgufConfig config) {
        config.put("hidden_activation", "gelu_pytorch_tanh");
    }

    private static void gemma2(GgufConfig config) {
        gemma(config);
        config.put("sliding_window", config.count("attention.sliding_window", 4096));
        config.put("attn_logit_softcapping", config.number("attn_logit_softcapping", 50));
        config.put("final_logit_softcapping", config.number("final_logit_softcapping", 30));
        config.put("query_pre_attn_scalar", queryScalar(config, /* layersOfTheLargest */ 46));
    }

    private static void gemma3(GgufConfig config) {
        gemma(config);
        int window = config.count("attention.sliding_window", 0);
        config.put("sliding_window_pattern", window == 0 ? 1 : config.count("attention.sliding_window_pattern", 6));
        if (window > 0) {
            config.put("sliding_window", window);
        }
        config.put("rope_local_base_freq", config.number("rope.freq_base_swa", 10_000));
        if (config.number("final_logit_softcapping", 0) > 0) {
            config.put("final_logit_softcapping", config.number("final_logit_softcapping", 0));
        }
        config.put("query_pre_attn_scalar", queryScalar(config, /* layersOfTheLargest */ 62));
    }

    /** Files do not say; llama.cpp knows the one model, by its layers, whose heads are not scaled by their own size. */
    private static int queryScalar(GgufConfig config, int layersOfTheLargest) {
        return config.count("block_count", 0) == layersOfTheLargest
                ? config.count("embedding_length", 0) / config.count("attention.head_count", 1) : config.headSize();
    }
}
