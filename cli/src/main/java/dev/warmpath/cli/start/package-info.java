/**
 * From what {@code up} was asked for to a fleet that answers: {@link FleetStart} tells the whole way. Also how a
 * running fleet is watched, and how one of its processes is started again.
 * <p>Uses {@code fleet} and {@code build}; used by the commands.
 */
@NullMarked
package dev.warmpath.cli.start;

import org.jspecify.annotations.NullMarked;
