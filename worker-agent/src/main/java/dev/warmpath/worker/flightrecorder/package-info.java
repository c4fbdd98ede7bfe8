/**
 * What the engine tells the JDK's Flight Recorder: a step with its phases, a sequence that found too few blocks,
 * evicted blocks, preemptions, swaps. While nobody records, an event costs a check of a flag, for which each class
 * keeps one instance: nothing is allocated, and no time taken. None of them walks the stack. They carry a request's id
 * and counts, never tokens. {@code docs/tracing-the-process.md} shows how they are read.
 * <p>Uses nothing. Used by {@code scheduler} and {@code engine}, on the engine's thread.
 */
@NullMarked
package dev.warmpath.worker.flightrecorder;

import org.jspecify.annotations.NullMarked;
