package dev.warmpath.worker.foreign.generate;

import dev.warmpath.protocol.generate.GenerateRequest;

/** What is known of an engine's cache, by whatever means. Safe on any thread. */
@FunctionalInterface
public interface KnownCache {

    /** @return tokens of a request's prompt that the engine probably has cached, 0 and above */
    int expectedTokens(GenerateRequest request);

    /** It is sent there, once, however many answers it has: one that is given up before its turn is not. */
    default void sent(GenerateRequest request) {}
}
