package dev.warmpath.worker.foreign.generate;

import dev.warmpath.protocol.generate.GenerateRequest;

/** What is known of an engine's cache, by whatever means. Safe on any thread. */
@FunctionalInterface
public interface KnownCache {

    int AS_BEFORE = -1;

    /** @return tokens of a request's prompt that the engine probably has cached, 0 and above */
    int expectedTokens(GenerateRequest request);

    /**
     * It is sent there, once, however many answers it has: one that is given up before its turn is not.
     *
     * @return what {@link #expectedTokens} says at this moment, just before it; {@link #AS_BEFORE} if that is not known
     *         any better than before its turn
     */
    default int sent(GenerateRequest request) {
        return AS_BEFORE;
    }
}
