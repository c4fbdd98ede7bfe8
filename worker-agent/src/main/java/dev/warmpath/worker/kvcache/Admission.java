package dev.warmpath.worker.kvcache;

/**
 * What a sequence asks for when it is admitted, beside its hit.
 *
 * @param tokenCount     tokens to compute in this step; 0 only if external ones come
 * @param lookahead      further positions that get a place but no key: drafts
 * @param externalTokens tokens right after the hit whose keys and values come from elsewhere
 * @param delayKeys      true: the external ones are still on their way; nothing is computed, and nothing keyed, before
 *                       {@link KvCacheManager#loaded}
 * @param wholeSequence  true: refuse unless all tokens of the sequence fit now, not only those asked for
 * @param othersRun      true: the watermark stays free
 */
public record Admission(
        int tokenCount, int lookahead, int externalTokens, boolean delayKeys, boolean wholeSequence,
        boolean othersRun) {

    public Admission {
        if (tokenCount < 0 || lookahead < 0 || externalTokens < 0) {
            throw new IllegalArgumentException("an admission of " + tokenCount + " tokens, " + lookahead
                    + " of lookahead and " + externalTokens + " external ones: none may be negative");
        }
        if (tokenCount == 0 && externalTokens == 0) {
            throw new IllegalArgumentException("an admission of 0 tokens and 0 external ones asks for nothing");
        }
        if (delayKeys && (externalTokens == 0 || tokenCount > 0)) {
            throw new IllegalArgumentException("keys are delayed while external tokens are on their way and nothing"
                    + " after them can be computed: " + externalTokens + " external tokens, " + tokenCount
                    + " to compute");
        }
    }

    /** Computes so many tokens; nothing else is asked for. */
    public static Admission of(int tokenCount) {
        return new Admission(tokenCount, 0, 0, false, false, false);
    }

    public Admission withLookahead(int lookahead) {
        return new Admission(tokenCount, lookahead, externalTokens, delayKeys, wholeSequence, othersRun);
    }

    public Admission withExternalTokens(int externalTokens, boolean delayKeys) {
        return new Admission(tokenCount, lookahead, externalTokens, delayKeys, wholeSequence, othersRun);
    }

    public Admission withWholeSequence(boolean wholeSequence) {
        return new Admission(tokenCount, lookahead, externalTokens, delayKeys, wholeSequence, othersRun);
    }

    public Admission withOthersRun(boolean othersRun) {
        return new Admission(tokenCount, lookahead, externalTokens, delayKeys, wholeSequence, othersRun);
    }
}
