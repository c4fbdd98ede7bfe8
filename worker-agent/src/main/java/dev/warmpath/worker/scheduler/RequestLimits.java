package dev.warmpath.worker.scheduler;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.LogitRules;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.kvcache.TokenSequence;
import java.util.Arrays;

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
        if (submission instanceof Submission.Accepted) {
            submission = checkTokens(sequence.tokens());
        }
        return submission instanceof Submission.Accepted ? checkRules(sequence) : submission;
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

    private Submission checkRules(Sequence sequence) {
        LogitRules rules = sequence.sampling().rules();
        Submission submission = checkIds(rules.biasedTokens(), "biasedTokens");
        if (submission instanceof Submission.Accepted) {
            submission = checkIds(rules.allowedTokens(), "allowedTokens");
        }
        for (int i = 0; i < rules.badWords().length && submission instanceof Submission.Accepted; i++) {
            submission = checkIds(rules.badWords()[i], "badWords");
        }
        if (submission instanceof Submission.Accepted && rules.allowedTokens().length > 0
                && Arrays.stream(rules.allowedTokens()).allMatch(token -> isBanned(token, sequence))) {
            return refused("allowedTokens has " + rules.allowedTokens().length
                    + " tokens, and each of them is a bad word or ends the answer before its least length");
        }
        return submission;
    }

    /** Whether it is masked at the first token, whatever is drawn. */
    private static boolean isBanned(int token, Sequence sequence) {
        return Arrays.stream(sequence.sampling().rules().badWords())
                .anyMatch(word -> word.length == 1 && word[0] == token)
                || sequence.stop().minTokens() > 0
                        && Arrays.stream(sequence.endTokens()).anyMatch(end -> end == token);
    }

    private Submission checkIds(int[] tokens, String field) {
        for (int token : tokens) {
            if (token < 0 || token >= vocabularySize) {
                return refused("token id " + token + " of " + field + " is outside the vocabulary of "
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
