package dev.warmpath.tokenization;

import dev.warmpath.tokenization.bpe.Recognition;
import dev.warmpath.tokenization.bpe.TokenDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.json.JsonReadFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** tokenizer.json, read, and rewritten for the native tokenizers that a {@link ModelTokenizer} keeps. */
final class TokenizerJson {
    /** Infinity stands in published config.json, as Python writes it; workers take it. */
    private static final JsonMapper MAPPER =
            JsonMapper.builder().enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS).build();

    private final ObjectNode root;
    private final Set<String> markers;

    /** @param written of tokens that look like markers, and are not special, those that the chat templates write */
    TokenizerJson(byte[] file, Function<List<AddedToken>, Set<String>> written) {
        if (!(parse("tokenizer.json", file) instanceof ObjectNode object) || !object.path("model").isObject()) {
            throw invalid("tokenizer.json has no object 'model'");
        }
        root = object;
        root.putNull("truncation");                              // limits are the router's, told with their numbers
        root.putNull("padding");
        var like = new ArrayList<AddedToken>();
        for (JsonNode json : root.path("added_tokens")) {
            AddedToken token = AddedToken.of(json);
            if (!token.special() && token.looksLikeMarker()) {
                like.add(token);
            }
        }
        markers = written.apply(like);
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
        root.path("added_tokens").forEach(json -> tokens.add(addedToken(json)));
        return tokens;
    }

    private AddedToken addedToken(JsonNode json) {
        AddedToken token = AddedToken.of(json);
        return markers.contains(token.content()) ? token.asMarker() : token;
    }

    /** The library looks for these itself: they must be found after normalization, which only it can do. */
    boolean isLeftToLibrary(AddedToken token) {
        // one outside the model's own vocabulary would get another id once others before it are gone
        return token.normalized() && !token.marker() && root.path("normalizer").isObject()
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
     * Most bytes of a text's UTF-8 that one token can stand for, or {@link ModelTokenizer#UNBOUNDED}. Known for
     * byte-level BPE that drops nothing: every character of a piece is one byte there, and every byte is in some token.
     */
    int maxTokenBytes() {
        boolean byteLevel = root.path("model").path("type").asString("").equals("BPE")
                && root.path("decoder").path("type").asString("").equals("ByteLevel");
        boolean drops = drops(root.path("pre_tokenizer"));
        int longest = 1;
        for (String piece : root.path("model").path("vocab").propertyNames()) {
            longest = Math.max(longest, piece.length());
        }
        for (AddedToken token : addedTokens()) {
            drops |= token.lstrip() || token.rstrip();
            longest = Math.max(longest, token.content().getBytes(StandardCharsets.UTF_8).length);
        }
        double bytes = longest * mostShrinking(root.path("normalizer"));
        return byteLevel && !drops && bytes < ModelTokenizer.UNBOUNDED
                ? (int) Math.ceil(bytes) : ModelTokenizer.UNBOUNDED;
    }

    /** Whether the pre-tokenizer leaves characters out. */
    private static boolean drops(JsonNode preTokenizer) {
        boolean drops = switch (preTokenizer.path("type").asString("")) {
            case "Split", "Punctuation" -> preTokenizer.path("behavior").asString("").equals("Removed");
            case "", "ByteLevel", "Digits", "Metaspace", "UnicodeScripts", "Sequence" -> false;
            default -> true;
        };
        for (JsonNode inner : preTokenizer.path("pretokenizers")) {
            drops |= drops(inner);
        }
        return drops;
    }

    /**
     * How many times longer in bytes a text may be before a normalizer than after it; infinite for those that leave
     * characters out, and for those that nobody here knows.
     */
    private static double mostShrinking(JsonNode normalizer) {
        return switch (normalizer.path("type").asString("")) {
            // tried with all characters: U+1D400 is A (4 to 1) with NFKC, U+212A is K (3 to 1) with the others
            case "NFC", "NFD", "NFKC", "NFKD", "Lowercase" -> 4;
            case "Prepend", "ByteLevel" -> 1;
            case "Replace" -> {
                int before = utf8Length(normalizer.path("pattern").path("String").asString(""));
                int after = utf8Length(normalizer.path("content").asString(""));
                yield before == 0 || after == 0 ? Double.POSITIVE_INFINITY : Math.max(1, (double) before / after);
            }
            case "Sequence" -> {
                double product = 1;
                for (JsonNode inner : normalizer.path("normalizers")) {
                    product *= mostShrinking(inner);
                }
                yield product;
            }
            default -> normalizer.isObject() ? Double.POSITIVE_INFINITY : 1;
        };
    }

    private static int utf8Length(String text) {
        return text.getBytes(StandardCharsets.UTF_8).length;
    }

    /** Whether the text between added tokens can be encoded without the library. */
    Recognition recognition() {
        for (AddedToken token : addedTokens()) {
            if (isLeftToLibrary(token)) {
                return new Recognition.Unknown("the added token '" + token.content() + "', found after normalization");
            }
        }
        return Recognition.of(root);
    }

    /** Null if ids can only be decoded by the library. */
    @Nullable TokenDecoder decoder() {
        return TokenDecoder.of(root);
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
            if (isLeftToLibrary(addedToken(json))) {
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
