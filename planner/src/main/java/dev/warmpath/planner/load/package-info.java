/**
 * What is to be simulated: a trace, as it is or laid over itself, or a load that is drawn; to be gone through as often
 * as one likes, and never held as a whole.
 * <p>Uses {@code trace} and {@code workload}. Entered by {@link dev.warmpath.planner.load.Load}.
 */
@NullMarked
package dev.warmpath.planner.load;

import org.jspecify.annotations.NullMarked;
