/**
 * How a process of the fleet ends, so that whoever runs it (launcher, container, operator) can rely on it: by itself, in
 * bounded time, and never half alive; and what it may repeat of others' words ({@code ForeignText}).
 *
 * <p>Uses nothing. Used by the {@code main} of router and worker, by those of their threads that begin anew, and by
 * whoever reads what workers and Redis say.
 */
@NullMarked
package dev.warmpath.protocol.process;

import org.jspecify.annotations.NullMarked;
