/**
 * The first words on every connection to a worker: both ends prove that they have the fleet's token, and the worker
 * that it is the one that is meant. Who cannot is no worker, and is told nothing else. See
 * {@link dev.warmpath.protocol.fleet.Handshake} for what is said.
 * <p>Uses {@code protocol.fleet}. Used by whoever opens connections to workers: {@code dispatch}, {@code fleetlink}.
 */
@NullMarked
package dev.warmpath.router.handshake;

import org.jspecify.annotations.NullMarked;
