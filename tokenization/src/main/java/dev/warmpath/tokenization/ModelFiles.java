package dev.warmpath.tokenization;

import org.jspecify.annotations.Nullable;

/**
 * The files of a model that concern text, as bytes. The arrays are only read, and belong to the caller.
 *
 * @param tokenizer        tokenizer.json
 * @param tokenizerConfig  tokenizer_config.json: special tokens, length limit, maybe chat templates
 * @param chatTemplate     chat_template.jinja, which wins over those
 * @param generationConfig generation_config.json: which tokens end a text
 * @param config           config.json: context length
 */
public record ModelFiles(byte[] tokenizer, byte[] tokenizerConfig, byte @Nullable [] chatTemplate,
        byte @Nullable [] generationConfig, byte @Nullable [] config) {
    /** Of a model whose chat templates are in tokenizer_config.json. */
    public ModelFiles(byte[] tokenizer, byte[] tokenizerConfig, byte @Nullable [] generationConfig,
            byte @Nullable [] config) {
        this(tokenizer, tokenizerConfig, /* chatTemplate */ null, generationConfig, config);
    }
}
