/**
 * How a worker introduces itself to a router, what it says every second from then on, and how it takes its leave.
 *
 * <p>Identifiers. A <b>worker id</b> names a place in the fleet and survives restarts; the <b>epoch</b> names one life
 * of it. A <b>revision</b> is the digest of everything that two workers must share to answer alike (weights, tokenizer,
 * chat template, hash settings, block size): routing never mixes revisions, so a rolling update is two of them side by
 * side, and a silent difference cannot turn into silent cache misses.
 * <p>Uses nothing. Used by the worker's {@code routerlink} and the router's {@code fleet} and {@code fleetlink}.
 */
@NullMarked
package dev.warmpath.protocol.fleet;

import org.jspecify.annotations.NullMarked;
