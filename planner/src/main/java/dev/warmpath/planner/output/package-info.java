/**
 * How results are shown: as tables, JSON and pages, with what they come from.
 * <p>Uses nothing beside it.
 */
@NullMarked
package dev.warmpath.planner.output;

import org.jspecify.annotations.NullMarked;
