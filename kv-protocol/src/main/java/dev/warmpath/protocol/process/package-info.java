/**
 * How a process of the fleet ends, so that whoever runs it (launcher, container, operator) can rely on it: by itself, in
 * bounded time, and never half alive.
 *
 * <p>Uses nothing. Used by the {@code main} of router and worker, and by those of their threads that begin anew.
 */
@NullMarked
package dev.warmpath.protocol.process;

import org.jspecify.annotations.NullMarked;
