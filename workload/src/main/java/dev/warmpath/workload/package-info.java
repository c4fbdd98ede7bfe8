/**
 * Who asks what, when: sessions of turns, read from traces or drawn from distributions.
 * <p>Uses nothing of ours. Used by the planner's {@code simulation} and by {@code warmpath bench}.
 */
@NullMarked
package dev.warmpath.workload;

import org.jspecify.annotations.NullMarked;
