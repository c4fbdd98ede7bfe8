package dev.warmpath.protocol.fleet;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.Nulls;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Everything that workers of one revision share. File parts are SHA-256 digests in hex and double as the names under
 * which a worker serves the files; a file that the model lacks is the empty string.
 *
 * @param weights          digest of the weights file; of weights that are changed while they are loaded, a digest over
 *                         that one and the change
 * @param config           digest of config.json
 * @param tokenizer        digest of tokenizer.json
 * @param tokenizerConfig  digest of tokenizer_config.json, which may hold chat templates
 * @param generationConfig digest of generation_config.json
 * @param hashAlgorithm    see {@link dev.warmpath.protocol.block.HashSettings}
 * @param hashSeed         see {@link dev.warmpath.protocol.block.HashSettings}
 * @param blockSize        tokens per KV-cache block
 * @param contextLength    most tokens of prompt and answer together: the model's, or what its workers cap it to
 * @param chatTemplate     digest of chat_template.jinja, which wins over those; the empty string also where a sender
 *                         does not know this part. Only of a model that has the file is it part of the revision: a
 *                         router that does not know it refuses that one, and renders no other template for it
 */
public record RevisionParts(
        String weights,
        String config,
        String tokenizer,
        String tokenizerConfig,
        String generationConfig,
        String hashAlgorithm,
        String hashSeed,
        int blockSize,
        int contextLength,
        @JsonSetter(nulls = Nulls.AS_EMPTY) @JsonInclude(JsonInclude.Include.NON_EMPTY) String chatTemplate) {

    /** Hex digits kept of the digest: 64 bits tell revisions apart, and people read them. */
    private static final int REVISION_DIGITS = 16;

    /** Of a model without chat_template.jinja. */
    public RevisionParts(String weights, String config, String tokenizer, String tokenizerConfig,
            String generationConfig, String hashAlgorithm, String hashSeed, int blockSize, int contextLength) {
        this(weights, config, tokenizer, tokenizerConfig, generationConfig, hashAlgorithm, hashSeed, blockSize,
                contextLength, /* chatTemplate */ "");
    }

    /** The revision's name: the leading hex digits of a digest over all parts. */
    public String revision() {
        var text = new StringBuilder();
        byName().forEach((name, value) -> text.append(name).append('=').append(value).append('\n'));
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256")
                    .digest(text.toString().getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(digest).substring(0, REVISION_DIGITS);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    /** The parts by name, in a fixed order, for comparing two revisions part by part. */
    public Map<String, String> byName() {
        Map<String, String> parts = new LinkedHashMap<>();
        parts.put("weights", weights);
        parts.put("config", config);
        parts.put("tokenizer", tokenizer);
        parts.put("tokenizerConfig", tokenizerConfig);
        parts.put("generationConfig", generationConfig);
        parts.put("hashAlgorithm", hashAlgorithm);
        parts.put("hashSeed", hashSeed);
        parts.put("blockSize", Integer.toString(blockSize));
        parts.put("contextLength", Integer.toString(contextLength));
        if (!chatTemplate.isEmpty()) {
            parts.put("chatTemplate", chatTemplate);
        }
        return parts;
    }
}
