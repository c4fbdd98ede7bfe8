/**
 * Deadlines and a cap for the connections of both ports: {@code ConnectionGuard} stands in each connection's pipeline
 * and ends what sends or reads too slowly, {@code OpenConnections} knows which of a port's are idle.
 * {@code EventLoopDelay} measures how late the loops are that carry them.
 * <p>Uses {@code http} for the words of a 408, {@code completion} to hear when the router stops, and {@code metrics}. Used by nobody: it is hung into the servers when they start.
 */
@NullMarked
package dev.warmpath.router.connections;

import org.jspecify.annotations.NullMarked;
