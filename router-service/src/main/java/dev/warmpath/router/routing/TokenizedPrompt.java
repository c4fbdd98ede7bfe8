package dev.warmpath.router.routing;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.router.models.ServedModel;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/**
 * A prompt on its way, as workers and index know it: made once by the tokenizer of a model's revision, and carried
 * from there to the worker. Whatever else tells equal tokens apart (an adapter, a salt) is hashed into the chain.
 *
 * @param model  the revision that is to answer it
 * @param tokens at least one; shared, nobody writes to it any more
 * @param chain  names of its full blocks
 */
public record TokenizedPrompt(ServedModel model, int[] tokens, BlockHashChain chain) {

    public static TokenizedPrompt of(ServedModel model, int[] tokens) {
        return new TokenizedPrompt(model, tokens, BlockHashChain.of(model.hashSettings(), ExtraKeys.NONE, tokens));
    }

    /** In tokens. */
    public int length() {
        return tokens.length;
    }

    /** In tokens. */
    public int blockSize() {
        return model.hashSettings().blockSize();
    }

    /** Leading blocks that need not be computed where they are cached: the last token always is. */
    public int reusableBlocks() {
        return model.hashSettings().reusableBlocks(length());
    }

    /** Hash of the last full block in lower-case hex, which covers all of them; null if there is none. */
    public @Nullable String hash() {
        return chain.blockCount() == 0 ? null : HexFormat.of().formatHex(chain.hash(chain.blockCount() - 1));
    }

    RouteQuery query() {
        return new RouteQuery(length(), blockSize());
    }
}
