package dev.warmpath.planner.trace;

import dev.warmpath.workload.Turn;

/**
 * A request of a trace.
 *
 * @param micros when it comes, since the trace's begin; never before the one that precedes it
 * @param turn   its prompt, and how many tokens are answered
 * @param line   in its file, from 1
 */
public record Arrival(long micros, Turn turn, long line) {}
