package dev.warmpath.worker.kvcache;

import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import java.util.List;
import java.util.stream.IntStream;

/** Short ways to write sequences and tables down. */
final class Sequences {

    private Sequences() {}

    static TokenSequence sequence(int blockSize, int... tokens) {
        return sequence(blockSize, ExtraKeys.NONE, tokens);
    }

    static TokenSequence sequence(int blockSize, ExtraKeys extraKeys, int... tokens) {
        return new TokenSequence(HashSettings.ofBlockSize(blockSize), extraKeys, tokens);
    }

    /** Both ends included, as in the scenarios. */
    static int[] range(int first, int last) {
        return IntStream.rangeClosed(first, last).toArray();
    }

    static int[] times(int count, int token) {
        return IntStream.generate(() -> token).limit(count).toArray();
    }

    static int[] concat(int[]... parts) {
        return IntStream.range(0, parts.length).flatMap(i -> IntStream.of(parts[i])).toArray();
    }

    /** Admits everything that is not cached, at once. @return the tokens that were */
    static int admitted(KvCacheManager cache, TokenSequence sequence) {
        PrefixHit hit = cache.match(sequence);
        int hitTokens = hit.tokenCount();
        if (!cache.admit(sequence, hit, sequence.tokenCount() - hitTokens)) {
            throw new AssertionError("not enough blocks");
        }
        return hitTokens;
    }

    /** The step that was made for a sequence has succeeded. */
    static void settle(KvCacheManager cache, TokenSequence sequence) {
        cache.settle(sequence, sequence.computedTokens());
    }

    static void grow(KvCacheManager cache, TokenSequence sequence, int... tokens) {
        for (int token : tokens) {
            sequence.append(token);
        }
        if (!cache.extend(sequence, tokens.length)) {
            throw new AssertionError("not enough blocks");
        }
    }

    /** All that is left of the child is computed. */
    static boolean forked(KvCacheManager cache, TokenSequence parent, TokenSequence child) {
        int left = child.tokenCount() - cache.shareableTokens(parent, child);
        return cache.fork(parent, child, Admission.of(left));
    }

    static KvCacheManager cache(int blockCount, int blockSize) {
        return new KvCacheManager(KvCacheSettings.of(blockCount, blockSize));
    }

    static int[] table(TokenSequence sequence) {
        return sequence.table().toArray();
    }

    static int[] table(TokenSequence sequence, int group) {
        return sequence.table(group).toArray();
    }

    static int[] queue(KvCacheManager cache) {
        return cache.pool().freeListing();
    }

    static int[] keyed(KvCacheManager cache) {
        return IntStream.rangeClosed(1, cache.usableBlocks()).filter(cache.pool()::isKeyed).toArray();
    }

    static int[] references(KvCacheManager cache, int... blocks) {
        return IntStream.of(blocks).map(cache.pool()::references).toArray();
    }

    static int hitTokens(KvCacheManager cache, int[] tokens) {
        return cache.match(sequence(cache.blockSize(), tokens)).tokenCount();
    }

    /** "TO_HOST 1->0", … */
    static List<String> copies(KvCacheManager cache) {
        BlockCopies copies = cache.copies();
        return IntStream.range(0, copies.size())
                .mapToObj(i -> copies.direction(i) + " " + copies.source(i) + "->" + copies.target(i)).toList();
    }
}
