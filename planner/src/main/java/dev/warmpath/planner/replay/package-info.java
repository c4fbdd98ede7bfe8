/**
 * A router's own decisions, asked again of every policy.
 * <p>Uses {@code trace}, {@code output} and the router's policies. Entered by
 * {@link dev.warmpath.planner.replay.Replay}.
 */
@NullMarked
package dev.warmpath.planner.replay;

import org.jspecify.annotations.NullMarked;
