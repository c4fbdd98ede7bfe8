package dev.warmpath.protocol.block;

import java.nio.charset.StandardCharsets;

/**
 * What two processes must share for their block hashes to be comparable.
 *
 * @param algorithm the only one spoken so far: {@link #SHA256_CBOR}
 * @param seed      text whose hash is the parent of every first block (vLLM: the value of PYTHONHASHSEED)
 * @param blockSize tokens per block, 1 to {@link #MAX_BLOCK_SIZE}
 */
public record HashSettings(String algorithm, String seed, int blockSize) {

    /** vLLM's name for SHA-256 over the canonical CBOR encoding of (parent, tokens, extra keys). */
    public static final String SHA256_CBOR = "sha256_cbor";
    public static final String DEFAULT_SEED = "0";
    public static final int DEFAULT_BLOCK_SIZE = 16;
    public static final int MAX_BLOCK_SIZE = 1024;
    /** A longer seed has no use, and the bound keeps registrations small. */
    private static final int MAX_SEED_BYTES = 256;

    public HashSettings {
        if (!algorithm.equals(SHA256_CBOR)) {
            throw new IllegalArgumentException(
                    "hash algorithm '" + algorithm + "' is not known, this fleet speaks " + SHA256_CBOR);
        }
        if (seed.getBytes(StandardCharsets.UTF_8).length > MAX_SEED_BYTES) {
            throw new IllegalArgumentException("hash seed is longer than " + MAX_SEED_BYTES + " bytes");
        }
        if (blockSize < 1 || blockSize > MAX_BLOCK_SIZE) {
            throw new IllegalArgumentException(
                    "block size " + blockSize + " is outside 1 to " + MAX_BLOCK_SIZE);
        }
    }

    /** The fleet's defaults with another block size. */
    public static HashSettings ofBlockSize(int blockSize) {
        return new HashSettings(SHA256_CBOR, DEFAULT_SEED, blockSize);
    }

    /**
     * How many leading blocks of a prompt can come from a cache. At least one token is always computed, because the
     * answer's first token needs its logits; so an exactly block-aligned prompt gives up its whole last block.
     *
     * @param tokenCount prompt length in tokens, at least 1
     */
    public int reusableBlocks(int tokenCount) {
        return (tokenCount - 1) / blockSize;
    }
}
