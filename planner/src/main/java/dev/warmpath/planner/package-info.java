/**
 * The planner's program: what a load would cost, how many workers it needs, what another policy would have done. Its
 * commands lie in {@code command}; what they do lies beside it, and can be called without a command line.
 */
@NullMarked
package dev.warmpath.planner;

import org.jspecify.annotations.NullMarked;
