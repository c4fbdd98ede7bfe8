package dev.warmpath.protocol.block;

import java.security.DigestException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/**
 * Hashes one block after another, each under a parent that is given: {@code SHA-256(CBOR([parent, tokens, extra keys or
 * null]))}, byte for byte vLLM's {@code sha256_cbor}. {@link BlockHashChain} is the same for the whole of a sequence.
 *
 * <p>A hash is {@link BlockHashChain#WORDS_PER_HASH} big-endian words of an array. Allocates nothing for a block
 * without extra keys. Not safe for use by several threads.
 */
public final class BlockHasher {

    private static final int WORDS = BlockHashChain.WORDS_PER_HASH;
    private static final int HASH_BYTES = WORDS * Long.BYTES;
    private static final int ITEMS_IN_PREIMAGE = 3;

    private final int blockSize;
    private final MessageDigest sha256 = newSha256();
    private final CborWriter preimage = new CborWriter();
    private final byte[] digest = new byte[HASH_BYTES];
    private final long[] root;

    public BlockHasher(HashSettings settings) {
        blockSize = settings.blockSize();
        root = new long[WORDS];
        preimage.text(settings.seed());
        finish(root, 0);
    }

    /** One of the same settings, which another thread may use. */
    BlockHasher(BlockHasher other) {
        blockSize = other.blockSize;
        root = other.root;
    }

    /** The parent of every first block; not to be written. */
    public long[] root() {
        return root;
    }

    /**
     * @param parent   [4] words from {@code parentAt} on: the hash of the block before, or {@link #root()}
     * @param tokens   ids that are not negative, of which the block's begin at {@code from}
     * @param target   gets the hash's four words from {@code at} on; may be {@code parent}
     */
    public void hash(long[] parent, int parentAt, int[] tokens, int from, BlockExtraKeys extraKeys, long[] target,
            int at) {
        begin(parent, parentAt, tokens, from);
        extraKeys.write(preimage);
        finish(target, at);
    }

    /** Writes all of the preimage but the extra keys. @return where those are to be written, before {@link #finish} */
    CborWriter begin(long[] parent, int parentAt, int[] tokens, int from) {
        preimage.clear();
        preimage.arrayHeader(ITEMS_IN_PREIMAGE);
        preimage.bytesHeader(HASH_BYTES);
        for (int i = 0; i < WORDS; i++) {
            preimage.rawLong(parent[parentAt + i]);
        }
        int to = from + blockSize;
        for (int i = from; i < to; i++) {
            if (tokens[i] < 0) {
                throw new IllegalArgumentException("token id " + tokens[i] + " at position " + i + " is negative");
            }
        }
        preimage.unsignedArray(tokens, from, to);
        return preimage;
    }

    void finish(long[] target, int at) {
        try {
            sha256.update(preimage.buffer(), 0, preimage.size());
            sha256.digest(digest, 0, HASH_BYTES);
        } catch (DigestException e) {
            throw new IllegalStateException("SHA-256 did not fit into " + HASH_BYTES + " bytes", e);
        }
        for (int i = 0; i < WORDS; i++) {
            target[at + i] = Bytes.getLong(digest, i * Long.BYTES);
        }
    }

    private static MessageDigest newSha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }
}
