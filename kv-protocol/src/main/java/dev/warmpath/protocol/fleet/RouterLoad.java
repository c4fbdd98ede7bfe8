package dev.warmpath.protocol.fleet;

/**
 * What one router's requests are to a worker. A router that finds itself here knows how much of the worker's work is
 * its own, as the worker saw it; the rest was brought by others.
 *
 * @param router              whose requests, as each of them said
 * @param requests            of them running and waiting, at least 1
 * @param pendingRequests     of those, the ones without a first token
 * @param pendingPromptTokens prompt tokens of theirs that still have to be computed
 */
public record RouterLoad(RouterId router, int requests, int pendingRequests, long pendingPromptTokens) {

    public RouterLoad {
        if (router == null) {                                      // readers of JSON pass on what is null or absent
            throw new IllegalArgumentException("a router's part does not say which router's");
        }
        if (requests < 1 || pendingRequests < 0 || pendingRequests > requests || pendingPromptTokens < 0) {
            throw new IllegalArgumentException("router " + router + " cannot have " + requests + " requests, "
                    + pendingRequests + " of them pending with " + pendingPromptTokens + " tokens");
        }
    }
}
