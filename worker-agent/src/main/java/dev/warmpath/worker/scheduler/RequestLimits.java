package dev.warmpath.worker.scheduler;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.kvcache.TokenSequence;

/**
 * What a worker can compute at all. Whoever passes will be served some day: one that could never fit would wait at the
 * head of the queue for ever, and everybody behind it.
 *
 * @param vocabularySize     token ids are below it
 * @param contextLength      most tokens of a sequence, prompt and generated, at least 2
 * @param cache              the blocks that one sequence can hold when it is alone
 * @param mostTokensInFlight see {@link SchedulerSettings#mostTokensInFlight}; at least 1
 */
public record RequestLimits(int vocabularySize, int contextLength, KvCacheSettings cache, int mostTokensInFlight) {

    private static final Submission ACCEPTED = new Submission.Accepted();

    public RequestLimits {
        if (vocabularySize < 1) {
            throw new IllegalArgumentException("vocabulary size " + vocabularySize + " is below 1");
        }
        if (contextLength < 2) {
            throw new IllegalArgumentException("context length " + contextLength
                    + " leaves no room for one token of prompt and one of answer");
        }
        if (mostTokensInFlight < 1) {
            throw new IllegalArgumentException("most tokens in flight " + mostTokensInFlight + " is below 1");
        }
    }

    /** Safe on any thread that has the sequence to itself; reads every prompt token. */
    public Submission check(Sequence sequence) {
        Submission submission = checkSize(sequence);
        return submission instanceof Submission.Accepted ? checkTokens(sequence.tokens()) : submission;
    }

    /** The part that needs no look at the tokens. */
    Submission checkSize(Sequence sequence) {
        int promptLength = sequence.tokens().promptLength();
        if (promptLength >= contextLength) {
            return refused("prompt has " + promptLength + " tokens, the model's context of " + contextLength
                    + " takes " + (contextLength - 1) + " beside one generated token");
        }
        int needed = mostBlocks(promptLength, sequence.stop().maxTokens());
        int usable = cache.blockCount() - 1;
        if (needed > usable) {
            return refused("prompt of " + promptLength + " tokens with up to " + sequence.stop().maxTokens()
                    + " generated ones needs " + needed + " cache blocks of " + cache.blockSize()
                    + " tokens, this worker has " + usable);
        }
        return ACCEPTED;
    }

    private Submission checkTokens(TokenSequence tokens) {
        for (int position = 0; position < tokens.promptLength(); position++) {
            int token = tokens.token(position);
            if (token < 0 || token >= vocabularySize) {
                return refused("token id " + token + " at position " + position + " is outside the vocabulary of "
                        + vocabularySize);
            }
        }
        return ACCEPTED;
    }

    /** The last token drawn is never computed, so it needs no place. */
    private int mostBlocks(int promptLength, int maxTokens) {
        int longest = (int) Math.min((long) promptLength + maxTokens, contextLength);
        return cache.mostBlocks(longest - 1, mostTokensInFlight);
    }

    private static Submission refused(String message) {
        return new Submission.Refused(FailureReason.INVALID_REQUEST, message);
    }
}
