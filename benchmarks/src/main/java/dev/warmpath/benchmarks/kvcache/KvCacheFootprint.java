package dev.warmpath.benchmarks.kvcache;

import dev.warmpath.worker.kvcache.KvCacheManager;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.kvcache.TokenSequence;
import java.lang.ref.Reference;

/**
 * Bytes of heap per block: what is retained after collection with a cache full of keys, less what is without it. Beside
 * it the sum of the arrays by block.
 * <pre>
 *   java -Xmx3g -XX:+UseSerialGC -cp benchmarks/target/classes:$(cat benchmarks/target/classpath) \
 *        dev.warmpath.benchmarks.kvcache.KvCacheFootprint
 * </pre>
 */
public final class KvCacheFootprint {

    private static final int HASH_BYTES = 32;
    private static final int TOKEN_BYTES = 4 * Prompts.BLOCK_SIZE;
    /**
     * Links of the free queue, references, links of duplicates, place in the chain, parent, group, last use, two
     * slots of the table.
     */
    private static final int BOOKKEEPING_BYTES = 2 * 4 + 4 + 2 * 4 + 4 + 4 + 1 + 4 + 2 * 8;
    private static final int PROMPT_BLOCKS = 1_024;

    private KvCacheFootprint() {}

    public static void main(String[] args) {
        measure(10_000, true);
        System.out.printf("%10s %8s %12s %12s %14s %14s%n",
                "blocks", "verify", "bytes", "per block", "bookkeeping", "by arithmetic");
        for (int blockCount : new int[] {1_000_000, 1_048_576}) {
            report(blockCount, false);
            report(blockCount, true);
        }
    }

    private static void report(int blockCount, boolean verifyTokens) {
        long bytes = measure(blockCount, verifyTokens);
        double perBlock = (double) bytes / blockCount;
        System.out.printf("%10d %8s %12d %12.2f %14.2f %14d%n", blockCount, verifyTokens, bytes, perBlock,
                perBlock - HASH_BYTES - (verifyTokens ? TOKEN_BYTES : 0), BOOKKEEPING_BYTES);
    }

    private static long measure(int blockCount, boolean verifyTokens) {
        var prompts = new Prompts();
        long before = usedBytes();
        var cache = new KvCacheManager(
                KvCacheSettings.of(blockCount, Prompts.BLOCK_SIZE).withVerifyTokens(verifyTokens));
        while (cache.stats().evictedBlocks() == 0) {
            TokenSequence prompt = prompts.sequence(PROMPT_BLOCKS * Prompts.BLOCK_SIZE);
            cache.admit(prompt, cache.match(prompt), prompt.tokenCount());
            cache.release(prompt);
            cache.drainChanges();
        }
        long after = usedBytes();
        Reference.reachabilityFence(cache);
        Reference.reachabilityFence(prompts);
        return after - before;
    }

    private static long usedBytes() {
        Runtime runtime = Runtime.getRuntime();
        long used = Long.MAX_VALUE;
        for (int i = 0; i < 4; i++) {
            System.gc();
            used = Math.min(used, runtime.totalMemory() - runtime.freeMemory());
        }
        return used;
    }
}
