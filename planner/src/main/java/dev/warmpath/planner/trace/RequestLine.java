package dev.warmpath.planner.trace;

import dev.warmpath.workload.Turn;

/**
 * What a line says.
 *
 * @param millis when the request came, since whatever the file counts from; not a number: the line does not say
 */
record RequestLine(double millis, Turn turn) {}
