package dev.warmpath.protocol.pool;

import dev.warmpath.protocol.event.EventFormatException;
import dev.warmpath.protocol.generate.GenerateRequest;

/**
 * One sequence that runs or waits: one of the answers to a request.
 *
 * @param id              the request's, of 1 to {@link GenerateRequest#MAX_REQUEST_ID_LENGTH} characters; two requests
 *                        may carry the same
 * @param choice          which of its answers, from 0
 * @param promptTokens    of its prompt
 * @param cachedTokens    of those, found in the cache when it was first admitted; what it finds when it has to compute
 *                        again is not added
 * @param computedTokens  whose keys and values are in the cache, or being computed by the step that runs
 * @param drawnTokens     of its answer so far
 * @param scheduledTokens that the engine's latest step computed for it; 0 if it had no part in that one
 */
public record PoolRequest(
        String id,
        int choice,
        RequestState state,
        int promptTokens,
        int cachedTokens,
        int computedTokens,
        int drawnTokens,
        int scheduledTokens) {

    public PoolRequest {
        if (id.isEmpty() || id.length() > GenerateRequest.MAX_REQUEST_ID_LENGTH) {
            throw new EventFormatException("a request id has " + id.length() + " characters, 1 to "
                    + GenerateRequest.MAX_REQUEST_ID_LENGTH + " are allowed");
        }
    }
}
