package dev.warmpath.worker.kvcache;

import java.util.Arrays;

/** Errors of use, each with its figures. */
final class UseChecks {

    private final int blockSize;
    private final int maxLength;

    UseChecks(KvCacheSettings settings) {
        blockSize = settings.blockSize();
        maxLength = settings.maxLength();
    }

    void requireBlockSize(TokenSequence sequence) {
        if (sequence.chain().blockSize() != blockSize) {
            throw new IllegalArgumentException("the sequence is hashed in blocks of " + sequence.chain().blockSize()
                    + " tokens, the cache has blocks of " + blockSize);
        }
    }

    /** @param name of the sequence in the message */
    void requireNoBlocks(TokenSequence sequence, String name) {
        if (sequence.holdsBlocks()) {
            throw new IllegalStateException("the " + name + " is admitted already, its table is " + sequence.table());
        }
    }

    void requireHolder(TokenSequence sequence) {
        if (!sequence.holdsBlocks()) {
            throw new IllegalStateException("the sequence is not admitted: it holds no blocks");
        }
    }

    /** What comes back from swap space depends on the step being made, which a delayed load does not wait for. */
    void requireLoadable(TokenSequence sequence, Admission admission) {
        if (admission.delayKeys() && sequence.swappedTokens() > 0) {
            throw new IllegalStateException("a delayed load of " + admission.externalTokens() + " tokens, but "
                    + sequence.swappedTokens() + " lie in swap space: to be dropped first");
        }
    }

    void requireExtensible(TokenSequence sequence, int lookahead) {
        requireHolder(sequence);
        if (sequence.holding().isLoading()) {
            throw new IllegalStateException("the sequence waits for an external load");
        }
        if (lookahead < 0) {
            throw new IllegalArgumentException("lookahead " + lookahead + " is negative");
        }
    }

    /**
     * @param before tokens in front of them
     * @param least  how many there must be
     */
    void requireTokens(TokenSequence sequence, long before, int tokenCount, int least) {
        long last = Math.min((long) sequence.tokenCount() + sequence.pendingTokens(), maxLength);
        long most = last - before;
        if (tokenCount >= least && tokenCount <= most) {
            return;
        }
        throw new IllegalArgumentException(tokenCount + " tokens to compute" + (most >= 1
                ? ", 1 to " + most + " are possible"
                : " behind " + before + ", the sequence may have " + last + " in all"));
    }

    /** A child that could have its parent's blocks, if its tokens are the same. */
    void requireKin(TokenSequence parent, TokenSequence child, Admission admission) {
        requireBlockSize(parent);
        requireBlockSize(child);
        requireNoBlocks(child, "child");
        if (!child.chain().hasRootOf(parent.chain())) {
            throw new IllegalArgumentException("the child has another salt, adapter, media or seed than its parent");
        }
        if (admission.externalTokens() > 0) {
            throw new IllegalArgumentException(
                    admission.externalTokens() + " external tokens: a child has its parent's and computes the rest");
        }
    }

    void requireSameTokens(TokenSequence parent, TokenSequence child, int tokenCount) {
        int difference = Arrays.mismatch(parent.tokens(), 0, tokenCount, child.tokens(), 0, tokenCount);
        if (difference >= 0) {
            throw new IllegalArgumentException("the child differs from its parent at position " + difference);
        }
    }
}
