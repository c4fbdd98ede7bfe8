/**
 * A fleet under a simulated clock: the router's {@code routing}, {@code prefix} and {@code fleet} and the worker's
 * {@code scheduler} and {@code kvcache} as they run in production, over a device that only takes time.
 * <p>Uses {@code workload}. Entered by {@link dev.warmpath.planner.simulation.SimulatedFleet#run}.
 */
@NullMarked
package dev.warmpath.planner.simulation;

import org.jspecify.annotations.NullMarked;
