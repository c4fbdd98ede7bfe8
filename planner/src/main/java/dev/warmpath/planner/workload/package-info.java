/**
 * Who asks what, when: sessions of turns, read from traces or drawn from distributions.
 * <p>Uses nothing of ours. Used by {@code simulation}.
 */
@NullMarked
package dev.warmpath.planner.workload;

import org.jspecify.annotations.NullMarked;
