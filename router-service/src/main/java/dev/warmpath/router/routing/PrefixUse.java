package dev.warmpath.router.routing;

/**
 * How many requests share a prompt's beginning with it right now.
 *
 * @param blocks   leading blocks of the prompt, at least 1
 * @param requests of this router, at all workers, that use at least so many of them, at least 1
 */
public record PrefixUse(int blocks, int requests) {}
