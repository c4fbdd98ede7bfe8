package dev.warmpath.router.routing;

/**
 * What is to be placed.
 *
 * @param promptTokens length of the prompt, at least 1
 * @param blockSize    tokens per block, at least 1
 */
public record RouteQuery(int promptTokens, int blockSize) {

    public RouteQuery {
        if (promptTokens < 1 || blockSize < 1) {
            throw new IllegalArgumentException(promptTokens + " tokens in blocks of " + blockSize);
        }
    }
}
