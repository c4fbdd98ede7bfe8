package dev.warmpath.worker.foreign.generate;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What an engine says of itself, once.
 *
 * @param kind           what it is; a vLLM may be found where any server was expected
 * @param version        its release, or null
 * @param model          as it calls the model that it serves
 * @param root           where it has that from, as it was started; null = it does not say
 * @param contextLength  most tokens of prompt and answer; 0 = it does not say
 * @param cache          of its paged cache; null = it does not say
 * @param startedSeconds when its process started, in seconds since 1970; 0 = it does not say. Another value is another
 *                       life
 * @param eventSources   where its cache's events are published, by data-parallel rank; empty = nowhere, or it does not
 *                       say
 */
public record EngineFacts(EngineKind kind, @Nullable String version, String model, @Nullable String root,
        int contextLength, @Nullable Cache cache, double startedSeconds, Map<Integer, EventSource> eventSources) {

    /**
     * @param blockSize      tokens of a block
     * @param blockCount     of one rank, the one that is never given out among them
     * @param reusesPrefixes prefixes are found again
     */
    public record Cache(int blockSize, int blockCount, boolean reusesPrefixes) {}

    /**
     * One rank's sockets, as they are bound: {@code *} stands for every address of the engine's host.
     *
     * @param endpoint       events
     * @param replayEndpoint those that were, or null
     * @param topic          of each message, may be empty
     */
    public record EventSource(String endpoint, @Nullable String replayEndpoint, String topic) {}

    EngineFacts withStart(double seconds) {
        return new EngineFacts(kind, version, model, root, contextLength, cache, seconds, eventSources);
    }
}
