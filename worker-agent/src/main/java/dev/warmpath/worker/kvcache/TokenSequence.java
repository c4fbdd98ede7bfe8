package dev.warmpath.worker.kvcache;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import java.util.Arrays;

/**
 * A growing run of tokens as the cache sees it: the tokens, the hashes of their full blocks, and the blocks that hold
 * the keys and values of those computed so far.
 *
 * <pre>
 *   tokens    | prompt ............... | generated ..... |
 *             0                   promptLength    tokenCount
 *   computed  | in the cache, or being computed |
 *             0                           computedTokens
 * </pre>
 *
 * <p>May be made, and hashed, on any thread; from submission on it belongs to the engine's.
 */
public final class TokenSequence {

    private static final int MIN_GROWTH = 16;

    private final HashSettings hashSettings;
    private final BlockHashChain chain;
    private final BlockTable table;
    private final int promptLength;
    private int[] tokens;
    private int tokenCount;

    // the cache's own notes, written by KvCacheManager
    int computedTokens;
    /** Leading blocks of the table that carry their key. */
    int keyedBlocks;
    /** How many of them did so before the step that is being computed. */
    int keyedBeforeStep;
    boolean admittedBefore;
    int cachedTokens;

    /** @param prompt at least one token; handed over, not copied: nobody writes it any more */
    public TokenSequence(HashSettings hashSettings, ExtraKeys extraKeys, int[] prompt) {
        if (prompt.length == 0) {
            throw new IllegalArgumentException("a sequence needs at least one token");
        }
        this.hashSettings = hashSettings;
        this.chain = new BlockHashChain(hashSettings, extraKeys);
        this.table = new BlockTable(hashSettings.blockSize());
        this.promptLength = prompt.length;
        this.tokens = prompt;
        this.tokenCount = prompt.length;
    }

    public int promptLength() {
        return promptLength;
    }

    /** Prompt and generated tokens. */
    public int tokenCount() {
        return tokenCount;
    }

    public int token(int position) {
        if (position >= tokenCount) {
            throw new IndexOutOfBoundsException("position " + position + " of " + tokenCount + " tokens");
        }
        return tokens[position];
    }

    /** Adds a generated token. It has no place in the cache yet: the step that computes it gives it one. */
    public void append(int token) {
        if (tokenCount == tokens.length) {
            tokens = Arrays.copyOf(tokens, tokenCount + Math.max(MIN_GROWTH, tokenCount / 2));
        }
        tokens[tokenCount++] = token;
    }

    /**
     * Hashes the blocks that became full since the last call. The cache does so when it needs the hashes; a submitter
     * who does it first takes the work (1.5 ms for 100,000 tokens) off the engine's thread.
     *
     * @throws IllegalArgumentException if a token id is negative
     */
    public void hash() {
        chain.extend(tokens, tokenCount);
    }

    /** Tokens whose keys and values are in the cache or, once scheduled, being computed in the current step. */
    public int computedTokens() {
        return computedTokens;
    }

    /** Tokens still to be computed; 1 while decoding. */
    public int uncomputedTokens() {
        return tokenCount - computedTokens;
    }

    /** How many tokens were found in the cache when the sequence was first admitted; 0 before. */
    public int cachedTokens() {
        return cachedTokens;
    }

    public BlockTable table() {
        return table;
    }

    BlockHashChain chain() {
        return chain;
    }

    /**
     * The tokens themselves, {@link #tokenCount} of them, for filling a step's batch: not to be written, and to be asked
     * for anew after {@link #append}.
     */
    public int[] tokens() {
        return tokens;
    }

    int reusableBlocks() {
        return hashSettings.reusableBlocks(tokenCount);
    }
}
