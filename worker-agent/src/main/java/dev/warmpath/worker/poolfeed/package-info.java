/**
 * What the pool of blocks looks like, for people: {@code PoolFeed} samples it while somebody reads and tells what has
 * changed, {@code PoolDetails} describes one block and the tables of one request, and {@code PoolRoutes} serves both to
 * routers, with the engine's holding and stepping by hand.
 * <p>Uses {@code protocol.pool}; {@code engine}, by looks on its thread, and what it stands on, to read; {@code
 * routerlink} for how routers are refused. Used by the wiring.
 */
@NullMarked
package dev.warmpath.worker.poolfeed;

import org.jspecify.annotations.NullMarked;
