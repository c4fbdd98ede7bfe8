/**
 * The connection to Redis, with the same settings in router and worker: which server, as whom, over TLS or not, and how
 * long anything may take. A server that is not there delays no start and no request: commands are refused at once, and
 * the connection comes back by itself.
 * <p>Uses {@code protocol.fleet} for its pauses, and Lettuce. Used by the worker's {@code routerlink} and the router's
 * {@code fleetlink}; what is written where stands in {@code protocol.redis}.
 */
@NullMarked
package dev.warmpath.redislink;

import org.jspecify.annotations.NullMarked;
