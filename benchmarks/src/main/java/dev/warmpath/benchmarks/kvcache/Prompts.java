package dev.warmpath.benchmarks.kvcache;

import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.worker.kvcache.TokenSequence;
import java.util.SplittableRandom;

/** Prompts of uniformly random token ids, no two alike, hashed beforehand as a submitter does it. */
final class Prompts {

    static final int BLOCK_SIZE = 16;
    private static final int VOCABULARY = 128_000;

    private final SplittableRandom random = new SplittableRandom(7);

    int[] tokens(int tokenCount) {
        return random.ints(tokenCount, 0, VOCABULARY).toArray();
    }

    TokenSequence sequence(int tokenCount) {
        var sequence = new TokenSequence(HashSettings.ofBlockSize(BLOCK_SIZE), ExtraKeys.NONE, tokens(tokenCount));
        sequence.hash();
        return sequence;
    }

    TokenSequence[] sequences(int count, int tokenCount) {
        var sequences = new TokenSequence[count];
        for (int i = 0; i < count; i++) {
            sequences[i] = sequence(tokenCount);
        }
        return sequences;
    }
}
