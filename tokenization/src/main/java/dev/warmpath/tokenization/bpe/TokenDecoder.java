package dev.warmpath.tokenization.bpe;

import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** Ids to text without the library. Safe for concurrent use. */
public sealed interface TokenDecoder permits ByteLevelDecoder, MetaspaceDecoder {
    /** @param root tokenizer.json. @return null if its decoder is not known, or its vocabulary no map */
    static @Nullable TokenDecoder of(JsonNode root) {
        @Nullable TokenDecoder byteLevel = ByteLevelDecoder.of(root);
        return byteLevel != null ? byteLevel : MetaspaceDecoder.of(root);
    }

    /** The text of {@code ids[from, to)}; ids outside the vocabulary give none. */
    String decode(int[] ids, int from, int to, boolean skipSpecialTokens);

    /**
     * What an id stands for within a text, in UTF-8, maybe a part of a character only; a special token's spelling, and
     * nothing of an id outside the vocabulary. Not to be written to.
     */
    byte[] bytes(int id);

    /**
     * For a text that comes id by id. Special tokens give no text there.
     *
     * @param continues it goes on with another one: what is left out where a text begins stays
     */
    TextStream stream(boolean continues);
}
