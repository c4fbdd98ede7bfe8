package dev.warmpath.workload;

/**
 * One request of a client.
 *
 * @param answerTokens how many the worker draws, at least 1
 */
public record Turn(Prompt prompt, int answerTokens) {}
