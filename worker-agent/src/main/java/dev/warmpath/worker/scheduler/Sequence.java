package dev.warmpath.worker.scheduler;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.kvcache.TokenSequence;
import org.jspecify.annotations.Nullable;

/**
 * One generation on its way through the engine: what was asked for, its tokens, and how far it has come. May be made on
 * any thread; from submission on it belongs to the engine's.
 */
public final class Sequence {

    public static final long NO_DEADLINE = Long.MAX_VALUE;

    private final String requestId;
    private final TokenSequence tokens;
    private final SamplingParameters sampling;
    private final StopConditions stop;
    private final int[] eosTokenIds;
    private final boolean logprobs;
    private final long deadlineNanos;

    private SequenceState state = SequenceState.Alive.NEW;
    private int preemptionCount;

    /**
     * @param tokens        the prompt, to which the generated tokens are added
     * @param eosTokenIds   the model's end-of-sequence tokens; shared, never written
     * @param logprobs      true: the log-probability of every drawn token is wanted
     * @param deadlineNanos on the clock of {@link Scheduler#schedule}; fails from then on. Or {@link #NO_DEADLINE}
     */
    public Sequence(
            String requestId,
            TokenSequence tokens,
            SamplingParameters sampling,
            StopConditions stop,
            int[] eosTokenIds,
            boolean logprobs,
            long deadlineNanos) {
        this.requestId = requestId;
        this.tokens = tokens;
        this.sampling = sampling;
        this.stop = stop;
        this.eosTokenIds = eosTokenIds;
        this.logprobs = logprobs;
        this.deadlineNanos = deadlineNanos;
    }

    /** The client's name for it; two sequences may carry the same. */
    public String requestId() {
        return requestId;
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

    public boolean logprobs() {
        return logprobs;
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

    int pendingPromptTokens() {
        return Math.max(0, tokens.promptLength() - tokens.computedTokens());
    }

    /**
     * Adds a drawn token.
     *
     * @param contextLength most tokens that the model takes, prompt included
     * @return why this was the last, or null if it goes on
     */
    @Nullable FinishReason append(int token, int contextLength) {
        tokens.append(token);
        if (!stop.ignoreEos() && isEos(token) || stop.stopsAt(token)) {
            return FinishReason.STOP;
        }
        boolean full = completionTokens() >= stop.maxTokens() || tokens.tokenCount() >= contextLength;
        return full ? FinishReason.LENGTH : null;
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
