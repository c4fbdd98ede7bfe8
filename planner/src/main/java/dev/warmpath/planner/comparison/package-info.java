/**
 * Policies beside each other on the same loads: what a fleet of so many workers, with caches of such a size and so
 * busy, makes its clients wait.
 * <p>Uses {@code simulation}, {@code workload} and the router's policies.
 */
@NullMarked
package dev.warmpath.planner.comparison;

import org.jspecify.annotations.NullMarked;
