package dev.warmpath.worker.scheduler;

import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.kvcache.TokenSequence;
import java.util.stream.IntStream;

/** Short ways to write requests down. */
final class Requests {

    static final int EOS = 2;

    private Requests() {}

    static Sequence request(String id, int blockSize, int[] prompt, StopConditions stop, int priority,
            long deadlineNanos) {
        var tokens = new TokenSequence(HashSettings.ofBlockSize(blockSize), ExtraKeys.NONE, prompt);
        return new Sequence(id, tokens, SamplingParameters.GREEDY, stop, new int[] {EOS}, Logprobs.NONE, priority,
                deadlineNanos, null);
    }

    static Sequence request(String id, int blockSize, int[] prompt, StopConditions stop, long deadlineNanos) {
        return request(id, blockSize, prompt, stop, /* priority */ 0, deadlineNanos);
    }

    static Sequence request(String id, int blockSize, int[] prompt, int maxTokens) {
        return request(id, blockSize, prompt, StopConditions.maxTokens(maxTokens), Sequence.NO_DEADLINE);
    }

    /** So many tokens that no other prompt begins with, unless it has the same first token. */
    static int[] prompt(int firstToken, int length) {
        return IntStream.range(firstToken, firstToken + length).toArray();
    }
}
