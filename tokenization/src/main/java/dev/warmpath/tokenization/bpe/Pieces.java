package dev.warmpath.tokenization.bpe;

import java.util.BitSet;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * What ids stand for in tokenizer.json, added tokens with them.
 * @param texts by id, as they are written there; shared, and nobody writes to it
 */
record Pieces(@Nullable String[] texts, BitSet specialIds) {
    /** Null if the vocabulary is no map, or one id so far away that a table up to it is too large. */
    static @Nullable Pieces of(JsonNode root) {
        JsonNode vocab = root.path("model").path("vocab");
        JsonNode addedTokens = root.path("added_tokens");
        if (!vocab.isObject()) {
            return null;
        }
        int last = -1;
        for (JsonNode id : vocab.values()) {
            last = Math.max(last, id.asInt(-1));
        }
        for (JsonNode added : addedTokens) {
            last = Math.max(last, added.path("id").asInt(-1));
        }
        if (last > 8 * (vocab.size() + addedTokens.size())) {
            return null;
        }
        var pieces = new Pieces(new @Nullable String[last + 1], new BitSet());
        for (Map.Entry<String, JsonNode> piece : vocab.properties()) {
            pieces.texts[piece.getValue().asInt()] = piece.getKey();
        }
        for (JsonNode added : addedTokens) {
            int id = added.path("id").asInt();
            pieces.texts[id] = added.path("content").asString("");
            pieces.specialIds.set(id, added.path("special").asBoolean(false));
        }
        return pieces;
    }
}
