package dev.warmpath.router.routing;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.router.models.ServedModel;
import java.util.Arrays;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;
import java.util.List;

/**
 * A prompt on its way, as workers and index know it: made once by the tokenizer of a model's revision, and carried
 * from there to the worker. Whatever else tells equal tokens apart (an adapter, a salt) is hashed into the chain.
 *
 * @param model        the revision that is to answer it
 * @param tokens       at least one; shared, nobody writes to it any more
 * @param chain        names of its full blocks
 * @param conversation key of what the turns of one conversation have in common
 * @param anew         all of it is computed, whatever is cached
 * @param choices      answers that are drawn at the same time, at least 1: sequences at the worker
 */
public record TokenizedPrompt(ServedModel model, int[] tokens, BlockHashChain chain, long conversation, boolean anew,
        int choices) {

    /** What is taken for a prompt's beginning: SMG's {@code prefix_hash} has the same. */
    private static final int BEGINNING_TOKENS = 256;

    /** A prompt with one answer, of which what is cached need not be computed. */
    public TokenizedPrompt(ServedModel model, int[] tokens, BlockHashChain chain, long conversation) {
        this(model, tokens, chain, conversation, /* anew */ false, /* choices */ 1);
    }

    /** A prompt of which nothing is known but its tokens: those that begin alike are one conversation. */
    public TokenizedPrompt(ServedModel model, int[] tokens, BlockHashChain chain) {
        this(model, tokens, chain, beginning(tokens, chain));
    }

    public static TokenizedPrompt of(ServedModel model, int[] tokens) {
        return new TokenizedPrompt(model, tokens, chain(model, tokens, ExtraKeys.NONE));
    }

    public static TokenizedPrompt of(ServedModel model, int[] tokens, long conversation) {
        return of(model, tokens, conversation, ExtraKeys.NONE);
    }

    /** @param extraKeys what else tells equal tokens apart */
    public static TokenizedPrompt of(ServedModel model, int[] tokens, long conversation, ExtraKeys extraKeys) {
        return new TokenizedPrompt(model, tokens, chain(model, tokens, extraKeys), conversation);
    }

    private static BlockHashChain chain(ServedModel model, int[] tokens, ExtraKeys extraKeys) {
        return BlockHashChain.of(model.hashSettings(), extraKeys, tokens);
    }

    /** Keys are chained: one stands for all blocks before it. A prompt without a full block has its tokens only. */
    private static long beginning(int[] tokens, BlockHashChain chain) {
        int blocks = Math.min(chain.blockCount(), Math.max(1, BEGINNING_TOKENS / chain.blockSize()));
        return blocks == 0 ? Arrays.hashCode(tokens) : chain.key(blocks - 1);
    }

    /** In tokens. */
    public int length() {
        return tokens.length;
    }

    /** In tokens. */
    public int blockSize() {
        return model.hashSettings().blockSize();
    }

    /** The same, to be answered in another way. */
    public TokenizedPrompt answered(boolean whollyAnew, int choiceCount) {
        return new TokenizedPrompt(model, tokens, chain, conversation, whollyAnew, choiceCount);
    }

    /** Leading blocks that need not be computed where they are cached: the last token always is. */
    public int reusableBlocks() {
        return anew ? 0 : model.hashSettings().reusableBlocks(length());
    }

    /** Hash of the last full block in lower-case hex, which covers all of them; null if there is none. */
    public @Nullable String hash() {
        return chain.blockCount() == 0 ? null : HexFormat.of().formatHex(chain.hash(chain.blockCount() - 1));
    }

    /**
     * @param draw      by chance, for this decision
     * @param busyShare of the model's workers
     * @param reuse     of its prompts
     */
    RouteQuery query(long draw, double busyShare, double reuse, List<PrefixUse> uses) {
        return new RouteQuery(length(), blockSize(), beginning(tokens, chain), conversation, draw, busyShare, reuse, uses);
    }
}
