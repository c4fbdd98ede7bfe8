package dev.warmpath.router.tokenization;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** tokenizer.json, read and rewritten for the two native tokenizers that a {@link ModelTokenizer} keeps. */
final class TokenizerJson {
    private static final JsonMapper MAPPER = JsonMapper.shared();

    private final ObjectNode root;

    TokenizerJson(byte[] file) {
        if (!(parse("tokenizer.json", file) instanceof ObjectNode object) || !object.path("model").isObject()) {
            throw invalid("tokenizer.json has no object 'model'");
        }
        root = object;
        root.putNull("truncation");                              // limits are the router's, told with their numbers
        root.putNull("padding");
    }

    static JsonNode parse(String name, byte[] file) {
        try {
            return MAPPER.readTree(file);
        } catch (JacksonException e) {
            throw new TokenizationException(TokenizationException.Kind.INVALID_MODEL_FILE,
                    name + " is not JSON: " + e.getOriginalMessage(), e);
        }
    }

    static TokenizationException invalid(String message) {
        return new TokenizationException(TokenizationException.Kind.INVALID_MODEL_FILE, message, null);
    }

    List<AddedToken> addedTokens() {
        var tokens = new ArrayList<AddedToken>();
        root.path("added_tokens").forEach(json -> tokens.add(AddedToken.of(json)));
        return tokens;
    }

    /** The library looks for these itself: they must be found after normalization, which only it can do. */
    boolean isLeftToLibrary(AddedToken token) {
        // one outside the model's own vocabulary would get another id once others before it are gone
        return token.normalized() && !token.special() && root.path("normalizer").isObject()
                && root.path("model").path("vocab").has(token.content());
    }

    /** One past the largest id. */
    int vocabularySize() {
        JsonNode vocab = root.path("model").path("vocab");
        int size = vocab.isArray() ? vocab.size() : 0;           // Unigram lists pieces, the others map them to ids
        for (JsonNode id : vocab.isObject() ? vocab.values() : List.<JsonNode>of()) {
            size = Math.max(size, id.asInt() + 1);
        }
        for (AddedToken token : addedTokens()) {
            size = Math.max(size, token.id() + 1);
        }
        return size;
    }

    /**
     * Most bytes of UTF-8 that one token can stand for, or {@link ModelTokenizer#UNBOUNDED}. Known for byte-level BPE
     * that drops nothing: every character of a piece is one byte there, and every byte is in some token.
     */
    int maxTokenBytes() {
        boolean byteLevel = root.path("model").path("type").asString("").equals("BPE")
                && root.path("decoder").path("type").asString("").equals("ByteLevel")
                && !root.path("normalizer").isObject();
        boolean drops = root.path("pre_tokenizer").findValuesAsString("behavior").contains("Removed");
        for (AddedToken token : addedTokens()) {
            drops |= token.lstrip() || token.rstrip();
        }
        int longest = 1;
        for (String piece : root.path("model").path("vocab").propertyNames()) {
            longest = Math.max(longest, piece.length());
        }
        for (AddedToken token : addedTokens()) {
            longest = Math.max(longest, token.content().getBytes(StandardCharsets.UTF_8).length);
        }
        return byteLevel && !drops ? longest : ModelTokenizer.UNBOUNDED;
    }

    /** As the model has it. */
    String whole() {
        return MAPPER.writeValueAsString(root);
    }

    /**
     * For the text between added tokens: without those that {@link AddedTokenFinder} looks for, and without
     * post-processor.
     * @param atStart false for text after the first token: what is put only before a prompt's first word stays out
     */
    String forSegments(boolean atStart) {
        ObjectNode copy = root.deepCopy();
        var kept = copy.putArray("added_tokens");
        root.path("added_tokens").forEach(json -> {
            if (isLeftToLibrary(AddedToken.of(json))) {
                kept.add(json);
            }
        });
        copy.putNull("post_processor");
        if (!atStart) {
            neverPrepend(copy.path("pre_tokenizer"));
        }
        return MAPPER.writeValueAsString(copy);
    }

    /** Whether a prompt's first segment is tokenized unlike the others. */
    boolean treatsStartApart() {
        return neverPrepend(root.path("pre_tokenizer").deepCopy());
    }

    private static boolean neverPrepend(JsonNode preTokenizer) {
        boolean changed = false;
        if (preTokenizer instanceof ObjectNode node && node.path("prepend_scheme").asString("").equals("first")) {
            node.put("prepend_scheme", "never");
            changed = true;
        }
        for (JsonNode inner : preTokenizer.path("pretokenizers")) {
            changed |= neverPrepend(inner);
        }
        return changed;
    }
}
