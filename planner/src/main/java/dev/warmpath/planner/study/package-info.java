/**
 * A load on fleets of several sizes under several policies, side by side.
 * <p>Uses {@code load} and {@code simulation}. Entered by {@link dev.warmpath.planner.study.Study}.
 */
@NullMarked
package dev.warmpath.planner.study;

import org.jspecify.annotations.NullMarked;
