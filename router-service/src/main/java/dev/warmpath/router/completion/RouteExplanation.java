package dev.warmpath.router.completion;

import dev.warmpath.router.fleet.ServedModel;
import dev.warmpath.router.routing.RouteDecision;
import org.jspecify.annotations.Nullable;

/**
 * Where a request would go.
 *
 * @param promptTokens length of its prompt
 * @param promptBlocks full blocks of it, those that cannot be reused included
 * @param promptHash   hash of the last full block in lower-case hex, covers all of them; null if there is none
 */
public record RouteExplanation(ServedModel model, int promptTokens, int promptBlocks, @Nullable String promptHash,
        RouteDecision decision) {}
