/**
 * Requests as files have them, in whichever of the formats that are known, one after the other and never all at once.
 * <p>Uses {@code workload}. Entered by {@link dev.warmpath.planner.trace.TraceReader}.
 */
@NullMarked
package dev.warmpath.planner.trace;

import org.jspecify.annotations.NullMarked;
