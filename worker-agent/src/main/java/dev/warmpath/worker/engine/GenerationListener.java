package dev.warmpath.worker.engine;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;

/**
 * Hears one generation's news on the engine's thread, so it must return at once and never block. After any number of
 * tokens exactly one of the other two is called, and nothing after it; a cancelled generation hears nothing more.
 */
public interface GenerationListener {

    /** @param logprob natural logarithm of the token's probability; 0 where it was not asked for */
    void onToken(int token, float logprob);

    void onFinished(FinishReason reason, Usage usage);

    void onFailed(FailureReason reason, String message);
}
