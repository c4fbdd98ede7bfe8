package dev.warmpath.router.decisions;

import dev.warmpath.router.routing.TokenizedPrompt;

/**
 * Hears of decisions as they are made and as they end. Called on the threads that serve requests, by several at a time:
 * it returns at once, and throws nothing.
 */
public interface DecisionWatcher {

    /** @param prompt read only during the call */
    void decided(Decision decision, TokenizedPrompt prompt);

    /** Its outcome is known. */
    void ended(Decision decision);
}
