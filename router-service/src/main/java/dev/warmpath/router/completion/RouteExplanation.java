package dev.warmpath.router.completion;

import dev.warmpath.router.fleet.ServedModel;
import dev.warmpath.router.routing.RouteDecision;

/**
 * Where a request would go.
 *
 * @param promptTokens length of its prompt
 * @param promptBlocks full blocks of it, those that cannot be reused included
 */
public record RouteExplanation(ServedModel model, int promptTokens, int promptBlocks, RouteDecision decision) {}
