/**
 * A generation's way through the engine as spans beneath its request's, where tracing is on and the trace is sampled.
 * They are written once it has ended, from the times that the engine keeps for its meters.
 * <p>Uses {@code engine}'s times, and {@code process.tracing}. Used by {@code generate}.
 */
@NullMarked
package dev.warmpath.worker.tracing;

import org.jspecify.annotations.NullMarked;
