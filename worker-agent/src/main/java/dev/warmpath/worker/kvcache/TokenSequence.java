package dev.warmpath.worker.kvcache;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A growing run of tokens as the cache sees it: the tokens, the hashes of their full blocks, and the blocks that hold
 * the keys and values of those computed so far.
 *
 * <pre>
 *   tokens    | prompt ............... | generated ..... | pending ..... |
 *             0                   promptLength    tokenCount     + pendingTokens
 *   computed  | in the cache, or being computed |
 *             0                           computedTokens
 *   settled   | by steps that succeeded |
 * </pre>
 *
 * <p>Pending tokens are drawn on the device and not known here yet; they may be computed all the same, by steps that take
 * their input from the one before.
 *
 * <p>May be made, and hashed, on any thread; from submission on it belongs to the engine's.
 */
public final class TokenSequence {

    private static final int MIN_GROWTH = 16;

    private final HashSettings hashSettings;
    private final ExtraKeys extraKeys;
    private final BlockHashChain chain;
    /** Of the same tokens, in blocks of other sizes; empty unless a cache has groups of such. */
    private final List<BlockHashChain> otherChains = new ArrayList<>(0);
    private final boolean skipsCacheRead;
    private final int promptLength;
    private int[] tokens;
    private int tokenCount;
    private int pendingTokens;
    private int cacheReadLimit = Integer.MAX_VALUE;

    private final BlockHolding holding;

    /** @param prompt at least one token; handed over, not copied: nobody writes it any more */
    public TokenSequence(HashSettings hashSettings, ExtraKeys extraKeys, int[] prompt) {
        this(hashSettings, extraKeys, prompt, false);
    }

    /** @param skipsCacheRead true: nothing cached is used for it; what it computes is cached all the same */
    public TokenSequence(HashSettings hashSettings, ExtraKeys extraKeys, int[] prompt, boolean skipsCacheRead) {
        this(hashSettings, extraKeys, new BlockHashChain(hashSettings, extraKeys), prompt, prompt.length,
                skipsCacheRead);
        if (prompt.length == 0) {
            throw new IllegalArgumentException("a sequence needs at least one token");
        }
    }

    /**
     * @param chain of these settings and keys over some of the prompt's leading blocks; handed over, as the prompt is
     */
    public TokenSequence(HashSettings hashSettings, ExtraKeys extraKeys, BlockHashChain chain, int[] prompt) {
        this(hashSettings, extraKeys, chain, prompt, prompt.length, /* skips cache read */ false);
    }

    private TokenSequence(HashSettings hashSettings, ExtraKeys extraKeys, BlockHashChain chain, int[] tokens,
            int promptLength, boolean skipsCacheRead) {
        this.hashSettings = hashSettings;
        this.extraKeys = extraKeys;
        this.chain = chain;
        this.holding = new BlockHolding(hashSettings.blockSize());
        this.promptLength = promptLength;
        this.tokens = tokens;
        this.tokenCount = tokens.length;
        this.skipsCacheRead = skipsCacheRead;
    }

    /**
     * A sequence of the tokens known so far that may go on differently; it has the hashes found so far, and no blocks:
     * {@link KvCacheManager#fork} shares those. An array without room behind its tokens is shared, too: whoever appends
     * first goes on in a copy, so many answers to one long prompt do not have as many prompts.
     */
    public TokenSequence fork() {
        int[] shared = tokens.length == tokenCount ? tokens : Arrays.copyOf(tokens, tokenCount);
        return new TokenSequence(hashSettings, extraKeys, chain.fork(), shared, promptLength, skipsCacheRead);
    }

    public int promptLength() {
        return promptLength;
    }

    /** Prompt and generated tokens that are known. */
    public int tokenCount() {
        return tokenCount;
    }

    public int token(int position) {
        if (position >= tokenCount) {
            throw new IndexOutOfBoundsException("position " + position + " of " + tokenCount + " tokens");
        }
        return tokens[position];
    }

    /** Adds a generated token, the first of the pending ones if there are any. */
    public void append(int token) {
        if (tokenCount == tokens.length) {
            tokens = Arrays.copyOf(tokens, tokenCount + Math.max(MIN_GROWTH, tokenCount / 2));
        }
        tokens[tokenCount++] = token;
        if (pendingTokens > 0) {
            pendingTokens--;
        }
    }

    /**
     * Counts tokens that the device will draw before they are known here; each {@link #append} from then on makes one of
     * them known. They can be computed, but have no keys.
     *
     * @throws IllegalArgumentException if the count is negative, or the sequence would have too many tokens to count
     */
    public void expect(int count) {
        if (count < 0 || (long) tokenCount + pendingTokens + count > Integer.MAX_VALUE) {
            throw new IllegalArgumentException(count + " tokens cannot be expected");
        }
        pendingTokens += count;
    }

    /** Tokens that are, or will be, drawn on the device and are not known here. */
    public int pendingTokens() {
        return pendingTokens;
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
        return holding.computedTokens();
    }

    /** Tokens still to be computed, pending ones among them; 1 while decoding. */
    public int uncomputedTokens() {
        return tokenCount + pendingTokens - holding.computedTokens();
    }

    /** True if the sequence reads nothing from the cache; it still writes. */
    public boolean skipsCacheRead() {
        return skipsCacheRead || cacheReadLimit == 0;
    }

    /**
     * Says how many leading tokens may be read from the cache, if they are there, because nothing but keys and values
     * is wanted of them. A {@link #fork} has no such limit.
     */
    public void limitCacheRead(int tokenCount) {
        cacheReadLimit = tokenCount;
    }

    int cacheReadLimit() {
        return cacheReadLimit;
    }

    /** How many tokens were found in the cache when the sequence was first admitted; 0 before. */
    public int cachedTokens() {
        return holding.cachedTokens();
    }

    /** Tokens whose keys and values lie in swap space; 0 while it holds blocks. */
    public int swappedTokens() {
        return holding.swappedTokens();
    }

    /** The table of the first group. */
    public BlockTable table() {
        return holding.table(0);
    }

    /** @param group by its place in the cache's settings; there is more than one table once the cache has seen it */
    public BlockTable table(int group) {
        return holding.table(group);
    }

    boolean holdsBlocks() {
        return !holding.isEmpty();
    }

    /** The cache's own notes. */
    BlockHolding holding() {
        return holding;
    }

    BlockHashChain chain() {
        return chain;
    }

    /** The chain in blocks of another size, all that is known hashed; made when it is first asked for. */
    BlockHashChain chain(int blockSize) {
        if (blockSize == chain.blockSize()) {
            chain.extend(tokens, tokenCount);
            return chain;
        }
        for (BlockHashChain other : otherChains) {
            if (other.blockSize() == blockSize) {
                other.extend(tokens, tokenCount);
                return other;
            }
        }
        var other = new BlockHashChain(
                new HashSettings(hashSettings.algorithm(), hashSettings.seed(), blockSize), extraKeys);
        otherChains.add(other);
        other.extend(tokens, tokenCount);
        return other;
    }

    /**
     * The tokens themselves, {@link #tokenCount} of them, for filling a step's batch: not to be written, and to be asked
     * for anew after {@link #append}.
     */
    public int[] tokens() {
        return tokens;
    }

}
