package dev.warmpath.router.completion;

import dev.warmpath.router.routing.RouteDecision;
import dev.warmpath.router.routing.TokenizedPrompt;

/** Where a request would go. */
public record RouteExplanation(TokenizedPrompt prompt, RouteDecision decision) {}
