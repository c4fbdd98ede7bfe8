package dev.warmpath.worker.kvcache;

import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
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
        cache.settle(sequence, sequence.computedTokens(), sequence.keyedBlocks());
    }

    static void grow(KvCacheManager cache, TokenSequence sequence, int... tokens) {
        for (int token : tokens) {
            sequence.append(token);
        }
        if (!cache.extend(sequence, tokens.length)) {
            throw new AssertionError("not enough blocks");
        }
    }
}
