/**
 * What a step takes: as a worker has measured it of itself, as a file keeps it, or as data sheets let one reckon it.
 * <p>Uses {@code simulation}'s service model and {@code capacity}. Entered by
 * {@link dev.warmpath.planner.cost.CostModel#named}.
 */
@NullMarked
package dev.warmpath.planner.cost;

import org.jspecify.annotations.NullMarked;
