package dev.warmpath.worker.scheduler;

import dev.warmpath.protocol.fleet.RouterId;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.LogitRules;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.kvcache.TokenSequence;
import java.util.Arrays;
import java.util.BitSet;
import org.jspecify.annotations.Nullable;

/**
 * One generation on its way through the engine: what was asked for, its tokens, and how far it has come. May be made on
 * any thread; from submission on it belongs to the engine's.
 */
public final class Sequence {

    public static final long NO_DEADLINE = Long.MAX_VALUE;
    /** The time of what has not happened. */
    public static final long NEVER = Long.MIN_VALUE;
    static final int NEVER_REFUSED = -1;

    private final String requestId;
    private final TokenSequence tokens;
    private final SamplingParameters sampling;
    private final StopConditions stop;
    private final int[] eosTokenIds;
    private final Logprobs logprobs;
    /** Prompt tokens that have computed the score of the next one, and whose score was told. */
    private int scoredTokens;
    private final int priority;
    private final long deadlineNanos;
    private final @Nullable RouterId router;
    private final @Nullable Sequence leader;
    /** Which answer of its request it is, from 0, and how many of them there are; that of the leader counts. */
    private final int choice;
    private int choiceCount = 1;
    private final boolean looksBack;
    private final boolean countsAnswer;
    /** Tokens that have an entry of its rules; null until {@link #readRules} and if there are no rules. */
    private @Nullable BitSet ruledTokens;
    private int ruledTokenCount;
    /** Entries beside those, at most: what is masked. */
    private int banCount;

    private SequenceState state = SequenceState.Alive.NEW;
    private int preemptionCount;

    // the scheduler's own notes
    /** The priority, where the policy asks for it; otherwise 0 for all. */
    int rank;
    /** Counts up with every submission. */
    long arrival;
    long arrivalNanos;
    long admittedNanos = NEVER;
    long lackedBlocksNanos = NEVER;
    /** Batches in flight that compute it: while there are any, its blocks are written to. */
    int batchesInFlight;
    /** A row of it was unusable: what it holds is found by nobody any more. */
    boolean spoiled;
    /** Computed tokens as of its last complete batch: a copy of a block that is made now has their content. */
    int scheduledTokens;
    /** Where the last step of its last batch drew for it, or {@link ScheduledBatch#NO_SAMPLE}. */
    int lastSampleIndex = ScheduledBatch.NO_SAMPLE;
    /** The free blocks when it last did not fit: it need not be tried again before there are more. */
    int freeBlocksWhenRefused = NEVER_REFUSED;
    long refusedInStep;
    /** It runs and was passed over since this decision, for lack of room for its logits' entries; 0 = it was not. */
    long lacksEntriesSince;
    /** In which step the cache was last asked for it. */
    long lookedUpInStep;
    /** How many tokens it need not compute, by the last time that the cache was asked, on submission or since. */
    int resumableTokens;
    /** Of its router; null if that is not told apart. */
    RouterTallies.@Nullable Tally tally;
    /** Of a leader: what the first of its family to be admitted found cached of their prompt; below 0 until then. */
    private int familyCachedTokens = -1;

    /**
     * @param tokens        the prompt, to which the generated tokens are added
     * @param eosTokenIds   the model's end-of-sequence tokens; shared, never written
     * @param logprobs      of which tokens log-probabilities are wanted; those of the prompt keep it from being read
     *                      from the cache
     * @param priority      lower is sooner; counts only if the policy is {@link SchedulingPolicy#PRIORITY}
     * @param deadlineNanos on the clock of {@link Scheduler#schedule}; fails from then on. Or {@link #NO_DEADLINE}
     * @param router        whose it is; null = it does not say
     */
    public Sequence(
            String requestId,
            TokenSequence tokens,
            SamplingParameters sampling,
            StopConditions stop,
            int[] eosTokenIds,
            Logprobs logprobs,
            int priority,
            long deadlineNanos,
            @Nullable RouterId router) {
        this(requestId, tokens, sampling, stop, eosTokenIds, logprobs, priority, deadlineNanos, router, null);
    }

    private Sequence(
            String requestId,
            TokenSequence tokens,
            SamplingParameters sampling,
            StopConditions stop,
            int[] eosTokenIds,
            Logprobs logprobs,
            int priority,
            long deadlineNanos,
            @Nullable RouterId router,
            @Nullable Sequence leader) {
        this.requestId = requestId;
        this.tokens = tokens;
        this.sampling = sampling;
        this.stop = stop;
        this.eosTokenIds = eosTokenIds;
        this.logprobs = logprobs;
        this.priority = priority;
        this.deadlineNanos = deadlineNanos;
        this.router = router;
        this.leader = leader;
        this.choice = leader == null ? 0 : leader.first().choiceCount++;
        this.looksBack = sampling.rules().looksBack();
        this.countsAnswer = sampling.rules().countsAnswer();
        noteScored(0);
    }

    /**
     * Counts what its rules speak of, unless that was done: reads the prompt, so rather not on the engine's thread.
     * Tokens were checked by {@link RequestLimits#check}, for there is a bit for each up to the largest.
     */
    public void readRules() {
        if (ruledTokens != null || !adjustsLogits()) {
            return;
        }
        LogitRules rules = sampling.rules();
        ruledTokens = new BitSet();
        banCount = rules.badWords().length + (stop.minTokens() > 0 ? endTokens().length : 0);
        for (int token : rules.biasedTokens()) {
            rule(token);
        }
        for (int token : rules.allowedTokens()) {
            rule(token);
        }
        for (int position = 0; position < tokens.tokenCount(); position++) {
            if (position < tokens.promptLength() ? rules.countsPrompt() : countsAnswer) {
                rule(tokens.token(position));
            }
        }
    }

    private void rule(int token) {
        if (ruledTokens != null && !ruledTokens.get(token)) {
            ruledTokens.set(token);
            ruledTokenCount++;
        }
    }

    /** True if its logits are adjusted before its tokens are drawn, at least the first of them. */
    public boolean adjustsLogits() {
        return sampling.logitRules() != null || stop.minTokens() > 0;
    }

    /** True if its next token depends on which tokens it has, not only through the model. */
    public boolean looksBack() {
        return looksBack;
    }

    /** Adjustments of its logits when its next token is drawn, at most; 0 if there are none. */
    int logitEntries() {
        readRules();
        return ruledTokenCount + banCount + (looksBack ? tokens.pendingTokens() : 0);
    }

    /** The same some time later, when up to {@code more} tokens are drawn. */
    int logitEntriesAfter(int more) {
        int left = stop.maxTokens() - completionTokens();
        return logitEntries() + (countsAnswer ? Math.max(0, Math.min(more, left)) : 0);
    }

    /** Tokens that end the answer: the request's own, and the model's unless they are to be ignored. */
    public int[] endTokens() {
        if (stop.ignoreEos()) {
            return stop.stopTokenIds();
        }
        int[] all = Arrays.copyOf(eosTokenIds, eosTokenIds.length + stop.stopTokenIds().length);
        System.arraycopy(stop.stopTokenIds(), 0, all, eosTokenIds.length, stop.stopTokenIds().length);
        return all;
    }

    /**
     * Another answer to the same prompt. Once this sequence has computed the prompt, the follower shares its blocks and
     * computes one token; if this one is gone by then, the follower is admitted like anybody else. To be made before
     * either is submitted, and submitted after this one.
     */
    public Sequence follower(SamplingParameters sampling) {
        if (state != SequenceState.Alive.NEW) {
            throw new IllegalStateException(this + " was submitted before");
        }
        return new Sequence(requestId, tokens.fork(), sampling, stop, eosTokenIds, logprobs.ofFollower(), priority,
                deadlineNanos, router, this);
    }

    /** The client's name for it; two sequences may carry the same. */
    public String requestId() {
        return requestId;
    }

    /** Which of the request's answers it is, from 0. */
    public int choice() {
        return choice;
    }

    public TokenSequence tokens() {
        return tokens;
    }

    public SamplingParameters sampling() {
        return sampling;
    }

    public StopConditions stop() {
        return stop;
    }

    public Logprobs logprobs() {
        return logprobs;
    }

    /** True if some token of the prompt is still to be scored. */
    private boolean lacksPromptScores() {
        return logprobs.prompt() && scoredTokens < tokens.promptLength() - 1;
    }

    /**
     * Of {@code count} tokens from {@code first} on, which a step computes, the first whose successor in the prompt is
     * to be scored; {@code first + count} and above if there is none.
     */
    int firstToScore(int first, int count) {
        return lacksPromptScores() ? Math.max(first, scoredTokens) : first + count;
    }

    /** The successors of so many leading prompt tokens have been scored: these may be read from the cache. */
    void noteScored(int tokenCount) {
        scoredTokens = tokenCount;
        tokens.limitCacheRead(lacksPromptScores() ? scoredTokens : Integer.MAX_VALUE);
    }

    public int priority() {
        return priority;
    }

    /** Whose it is, or null if it does not say. */
    @Nullable RouterId router() {
        return router;
    }

    public SequenceState state() {
        return state;
    }

    /** True once it is finished, failed or cancelled. */
    public boolean isOver() {
        return !(state instanceof SequenceState.Alive);
    }

    /** Tokens drawn so far, a stop token included. */
    public int completionTokens() {
        return tokens.tokenCount() - tokens.promptLength();
    }

    /**
     * Prompt tokens that were found in the cache when the sequence was first admitted, or, of several answers, the
     * first of them that was: what the others share with it was computed for them. 0 before.
     */
    public int cachedTokens() {
        return Math.max(0, first().familyCachedTokens);
    }

    /** It was just admitted for the first time. */
    void noteCachedTokens() {
        if (first().familyCachedTokens < 0) {
            first().familyCachedTokens = tokens.cachedTokens();
        }
    }

    private Sequence first() {
        return leader == null ? this : leader.first();
    }

    boolean isFollower() {
        return leader != null;
    }

    /** When it was first admitted, on the clock of {@link Scheduler#schedule}, or {@link #NEVER}. */
    public long admittedNanos() {
        return admittedNanos;
    }

    /** When it first was to be admitted and found too few blocks, on the same clock, or {@link #NEVER}. */
    public long lackedBlocksNanos() {
        return lackedBlocksNanos;
    }

    /** True if it waits and found too few blocks when it was last tried. */
    boolean waitsForBlocks() {
        return freeBlocksWhenRefused != NEVER_REFUSED;
    }

    /** How often it had to give its blocks up. */
    public int preemptionCount() {
        return preemptionCount;
    }

    void become(SequenceState next) {
        if (next == SequenceState.Alive.PREEMPTED) {
            preemptionCount++;
        }
        state = next;
    }

    boolean isExpired(long nowNanos) {
        return deadlineNanos != NO_DEADLINE && nowNanos - deadlineNanos >= 0;
    }

    /**
     * Prompt tokens that are neither computed nor in swap space, nor were found cached when the cache was last asked.
     * Who is about to share its leader's prompt computes the last of them.
     */
    int pendingPromptTokens() {
        if (awaitsLeader() || leaderToFork() != null) {
            return 1;
        }
        int present = Math.max(Math.max(tokens.computedTokens(), tokens.swappedTokens()), resumableTokens);
        return Math.max(0, tokens.promptLength() - present);
    }

    /** The order of service: lower rank first, then who came first. */
    boolean isBefore(Sequence other) {
        return rank != other.rank ? rank < other.rank : arrival < other.arrival;
    }

    /** True if the cache holds the whole prompt, or will when the batches in flight are done. */
    boolean hasScheduledPrompt() {
        return scheduledTokens >= tokens.promptLength();
    }

    /**
     * True if its prompt will soon be there to share. A leader that was preempted, is over or was never submitted is not
     * waited for; only if it still lacks scores of the prompt, for these come before anybody's tokens.
     */
    boolean awaitsLeader() {
        if (leader == null || state != SequenceState.Alive.WAITING) {
            return false;
        }
        return leader.state == SequenceState.Alive.WAITING
                || leader.state == SequenceState.Alive.PREEMPTED && leader.lacksPromptScores()
                || leader.state == SequenceState.Alive.RUNNING && !leader.hasScheduledPrompt();
    }

    /** Its leader, if that has computed the prompt, or will have before this sequence is; otherwise null. */
    @Nullable Sequence leaderToFork() {
        boolean forks = leader != null && state == SequenceState.Alive.WAITING
                && leader.state == SequenceState.Alive.RUNNING && leader.hasScheduledPrompt()
                && tokens.promptLength() > 1;
        return forks ? leader : null;
    }

    /** How many tokens may be drawn beyond those that the batches in flight draw; 0 if they reach the cap. */
    int drawsLeft(int contextLength) {
        int expected = tokens.tokenCount() + tokens.pendingTokens();
        int most = (int) Math.min((long) tokens.promptLength() + stop.maxTokens(), contextLength);
        return Math.max(0, most - expected);
    }

    /**
     * Adds a drawn token. The cap on the length holds in any case; before the least number of tokens, nothing else ends
     * the answer.
     *
     * @param contextLength most tokens that the model takes, prompt included
     * @return how it ended with this, or null if it goes on
     */
    SequenceState.@Nullable Finished append(int token, int contextLength) {
        tokens.append(token);
        if (countsAnswer) {
            rule(token);
        }
        if (completionTokens() >= stop.minTokens()) {
            if (!stop.ignoreEos() && isEos(token)) {
                return SequenceState.Finished.of(FinishReason.STOP);
            }
            if (stop.stopsAt(token)) {
                return new SequenceState.Finished(FinishReason.STOP, token);
            }
        }
        boolean full = completionTokens() >= stop.maxTokens() || tokens.tokenCount() >= contextLength;
        return full ? SequenceState.Finished.of(FinishReason.LENGTH) : null;
    }

    private boolean isEos(int token) {
        for (int eos : eosTokenIds) {
            if (eos == token) {
                return true;
            }
        }
        return false;
    }

    @Override
    public String toString() {
        return "Sequence[" + requestId + ", " + state + ", " + tokens.computedTokens() + " of "
                + tokens.tokenCount() + " tokens computed]";
    }
}
