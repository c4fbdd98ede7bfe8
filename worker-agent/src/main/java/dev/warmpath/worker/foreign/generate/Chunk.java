package dev.warmpath.worker.foreign.generate;

import dev.warmpath.protocol.generate.FinishReason;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a piece of an engine's answer says, whatever the dialect: everything may be absent.
 *
 * @param prompt  scores of the prompt's tokens from the second on, all of them, or empty
 * @param ids     tokens that were not told before, in order
 * @param scores  of these, or empty if they were not asked for
 * @param end     how the answer ended; more may follow, but for tokens
 * @param usage   what the engine counted
 * @param failure it ends, and not well
 */
record Chunk(List<Scored> prompt, int[] ids, List<Scored> scores, @Nullable FinishReason end, @Nullable Counted usage,
        @Nullable EngineFailure failure) {

    static final int NOT_TOLD = -1;
    private static final int[] NO_IDS = {};

    /**
     * @param promptTokens of the prompt that the engine computed, or {@link #NOT_TOLD}
     * @param cachedTokens of these, found in its cache, or likewise
     */
    record Counted(int promptTokens, int cachedTokens) {}

    static Chunk failed(EngineFailure failure) {
        return new Chunk(List.of(), NO_IDS, List.of(), null, null, failure);
    }

    static Chunk of(int[] ids, List<Scored> scores, @Nullable FinishReason end, @Nullable Counted usage) {
        return new Chunk(List.of(), ids, scores, end, usage, null);
    }

    static Chunk of(@Nullable Counted usage) {
        return new Chunk(List.of(), NO_IDS, List.of(), null, usage, null);
    }

    Chunk withPrompt(List<Scored> told) {
        return new Chunk(told, ids, scores, end, usage, failure);
    }
}
