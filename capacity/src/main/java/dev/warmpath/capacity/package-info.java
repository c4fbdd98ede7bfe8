/**
 * Formulas of caches and their sizes: pure functions of a few numbers, each with where it is from. The planner asks
 * them about traces, {@code ./warmpath doctor} about a fleet that runs, and the fleet page's calculator about one that
 * is to come.
 * <p>Uses nothing of ours.
 */
@NullMarked
package dev.warmpath.capacity;

import org.jspecify.annotations.NullMarked;
