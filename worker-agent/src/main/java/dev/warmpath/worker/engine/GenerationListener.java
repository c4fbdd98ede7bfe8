package dev.warmpath.worker.engine;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;

/**
 * Hears one generation's news on the engine's thread, so it must return at once and never block; if it throws, it
 * is told that its generation has failed, and nobody else's has. It hears of each token once: by {@link #onToken(int, TokenScores)}, which
 * tells the other one unless it is overridden. After any number of tokens exactly one of {@code onFinished} and
 * {@code onFailed} is called, and nothing after it; a cancelled generation hears nothing more, but for its times.
 */
public interface GenerationListener {

    /** @param logprob natural logarithm of the token's probability; NaN where it was not asked for */
    void onToken(int token, float logprob);

    /** The same with what else was asked for. @param scores valid during the call */
    default void onToken(int token, TokenScores scores) {
        onToken(token, scores.logprob());
    }

    /** Tells of the prompt's next token, from the second on, all before the first that is drawn; if asked for. */
    default void onPrompt(TokenScores scores) {}

    void onFinished(FinishReason reason, Usage usage);

    void onFailed(FailureReason reason, String message);

    /** True: {@link #onOver} is called. */
    default boolean wantsTimes() {
        return false;
    }

    /** Its way through the scheduler is over, whichever way: just before its last word, or when it is cancelled. */
    default void onOver(GenerationTimes times) {}
}
