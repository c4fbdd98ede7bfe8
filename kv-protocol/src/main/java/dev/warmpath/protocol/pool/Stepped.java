package dev.warmpath.protocol.pool;

/**
 * What one step by hand has done.
 *
 * @param stepped false: nobody ran or waited, so nothing was computed
 * @param tokens  that were drawn; 0 if it computed parts of prompts only
 */
public record Stepped(boolean stepped, int tokens) {}
