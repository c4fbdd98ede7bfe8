package dev.warmpath.protocol.block;

import java.util.Arrays;
import java.util.Objects;

/**
 * The hashes of a token sequence's full blocks, each covering its own tokens and, through its parent, all before them:
 * equal hashes at block i mean equal tokens 0 … (i + 1) * blockSize - 1 under equal {@link ExtraKeys}.
 *
 * <p>{@code h[i] = SHA-256(CBOR([h[i-1], tokens of block i, extra keys or null]))} and {@code h[-1] =
 * SHA-256(CBOR(seed))}, byte for byte vLLM's {@code sha256_cbor}. A partly filled last block has no hash.
 *
 * <p>Grows with its sequence and allocates nothing per block beyond that growth. Not safe for use by several threads.
 */
public final class BlockHashChain {

    /** A hash is kept as four big-endian 64-bit words; the last one is the block's key in every index. */
    public static final int WORDS_PER_HASH = 4;
    private static final int HASH_BYTES = WORDS_PER_HASH * Long.BYTES;
    private static final int KEY_WORD = WORDS_PER_HASH - 1;

    private final HashSettings settings;
    private final ExtraKeys extraKeys;
    private final ExtraKeyWriter extraKeyWriter;
    private final BlockHasher hasher;
    private long[] words;
    private int blockCount;

    public BlockHashChain(HashSettings settings, ExtraKeys extraKeys) {
        this.settings = settings;
        this.extraKeys = extraKeys;
        this.extraKeyWriter = new ExtraKeyWriter(extraKeys, settings.blockSize());
        this.hasher = new BlockHasher(settings);
        this.words = new long[WORDS_PER_HASH * 4];
    }

    private BlockHashChain(BlockHashChain other, int blocks) {
        settings = other.settings;
        extraKeys = other.extraKeys;
        extraKeyWriter = new ExtraKeyWriter(extraKeys, settings.blockSize());
        hasher = new BlockHasher(other.hasher);
        words = Arrays.copyOf(other.words, Math.max(blocks, 1) * WORDS_PER_HASH);
        blockCount = blocks;
    }

    /** A chain of its own with the hashes found so far, which may go on differently. */
    public BlockHashChain fork() {
        return fork(blockCount);
    }

    /**
     * A chain of its own with the hashes of the first blocks, which may go on differently. Reads only, so that several
     * threads may do this at a time while none extends the chain.
     */
    public BlockHashChain fork(int blocks) {
        Objects.checkFromToIndex(0, blocks, blockCount);
        return new BlockHashChain(this, blocks);
    }

    /** The chain of a whole prompt. */
    public static BlockHashChain of(HashSettings settings, ExtraKeys extraKeys, int[] tokens) {
        var chain = new BlockHashChain(settings, extraKeys);
        chain.extend(tokens, tokens.length);
        return chain;
    }

    /**
     * Hashes the blocks that have become full since the last call.
     *
     * @param tokens     the sequence from its first token on; only ever appended to between calls
     * @param tokenCount how many of them count, at least as many as in any earlier call
     */
    public void extend(int[] tokens, int tokenCount) {
        int fullBlocks = tokenCount / settings.blockSize();
        if (fullBlocks * WORDS_PER_HASH > words.length) {
            words = Arrays.copyOf(words, Math.max(words.length * 2, fullBlocks * WORDS_PER_HASH));
        }
        while (blockCount < fullBlocks) {
            hashBlock(tokens, blockCount);
            blockCount++;
        }
    }

    /** True if equal tokens have equal hashes in both, because the settings and what distinguishes them are equal. */
    public boolean hasRootOf(BlockHashChain other) {
        return settings.equals(other.settings) && extraKeys.equals(other.extraKeys);
    }

    /** Number of full blocks hashed so far. */
    public int blockCount() {
        return blockCount;
    }

    public int blockSize() {
        return settings.blockSize();
    }

    /** The 64-bit index key of a block: the last 8 bytes of its hash, as in vLLM's events. */
    public long key(int blockIndex) {
        return word(blockIndex, KEY_WORD);
    }

    /** Copies the words of a block's hash. @param at where the first one goes */
    public void copyHash(int blockIndex, long[] target, int at) {
        Objects.checkIndex(blockIndex, blockCount);
        System.arraycopy(words, blockIndex * WORDS_PER_HASH, target, at, WORDS_PER_HASH);
    }

    /** True if the words of a block's hash are those that stand elsewhere. @param at where the first one stands */
    public boolean hashEquals(int blockIndex, long[] others, int at) {
        int own = Objects.checkIndex(blockIndex, blockCount) * WORDS_PER_HASH;
        // the last word is the key that led here: it is compared last
        return words[own] == others[at] && words[own + 1] == others[at + 1]
                && words[own + 2] == others[at + 2] && words[own + 3] == others[at + 3];
    }

    /** The full 32-byte hash of a block, for logs and golden files; a new array. */
    public byte[] hash(int blockIndex) {
        byte[] hash = new byte[HASH_BYTES];
        for (int i = 0; i < WORDS_PER_HASH; i++) {
            Bytes.putLong(hash, i * Long.BYTES, word(blockIndex, i));
        }
        return hash;
    }

    private long word(int blockIndex, int wordIndex) {
        if (blockIndex >= blockCount) {
            throw new IndexOutOfBoundsException("block " + blockIndex + " of a chain of " + blockCount);
        }
        return words[blockIndex * WORDS_PER_HASH + wordIndex];
    }

    private void hashBlock(int[] tokens, int blockIndex) {
        boolean first = blockIndex == 0;
        CborWriter preimage = hasher.begin(first ? hasher.root() : words,
                first ? 0 : (blockIndex - 1) * WORDS_PER_HASH, tokens, blockIndex * settings.blockSize());
        extraKeyWriter.write(preimage, blockIndex);
        hasher.finish(words, blockIndex * WORDS_PER_HASH);
    }
}
