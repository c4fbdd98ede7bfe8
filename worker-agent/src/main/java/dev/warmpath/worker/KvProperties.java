package dev.warmpath.worker;

import dev.warmpath.protocol.block.HashSettings;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * The paged KV cache.
 *
 * @param blockCount    blocks of the pool, the null block included
 * @param blockSize     tokens per block; a part of the model's revision
 * @param hashSeed      text that block hashes start from; a part of the model's revision
 * @param prefixCaching false: nothing is ever reused
 * @param verifyTokens  true: a hit must have equal token ids, not only an equal 32-byte hash
 */
@Validated
@ConfigurationProperties("warmpath.kv")
public record KvProperties(
        @DefaultValue("2048") @Min(2) @Max(1 << 24) int blockCount,
        @DefaultValue("" + HashSettings.DEFAULT_BLOCK_SIZE) @Min(1) @Max(HashSettings.MAX_BLOCK_SIZE) int blockSize,
        @DefaultValue(HashSettings.DEFAULT_SEED) String hashSeed,
        @DefaultValue("true") boolean prefixCaching,
        @DefaultValue("true") boolean verifyTokens) {

    public HashSettings hashSettings() {
        return new HashSettings(HashSettings.SHA256_CBOR, hashSeed, blockSize);
    }
}
