/**
 * What is in a trace: what its prompts share, how large a cache that needs, and in which order a batch shares most.
 * <p>Uses {@code trace}, {@code output} and the formulas of {@code dev.warmpath.capacity}. Entered by
 * {@link dev.warmpath.planner.analysis.Analysis} and {@link dev.warmpath.planner.analysis.BatchOrder}.
 */
@NullMarked
package dev.warmpath.planner.analysis;

import org.jspecify.annotations.NullMarked;
