/**
 * The fleet of a state folder: which processes it has, whether they run and are ready, what they are told.
 * <p>Uses nothing else of the command; used by all that starts, stops and looks at a fleet.
 */
@NullMarked
package dev.warmpath.cli.fleet;

import org.jspecify.annotations.NullMarked;
