/**
 * How others choose a worker, each rule as a {@link dev.warmpath.router.routing.RoutingPolicy} of its own: to be
 * compared with ours on the same requests, or to be used. They are our own words for what their documents and sources
 * say, and see what this router knows: an exact index, and its own books on load; where that differs from the peer's,
 * the class says so.
 * <p>Uses {@code routing}. Used by its wiring only.
 */
@NullMarked
package dev.warmpath.router.routing.peers;

import org.jspecify.annotations.NullMarked;
