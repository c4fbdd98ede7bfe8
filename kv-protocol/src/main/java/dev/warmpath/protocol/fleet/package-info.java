/**
 * How a worker introduces itself to a router, what it says every second from then on, earlier when it has something to
 * tell, and how it takes its leave.
 *
 * <p>Identifiers. A <b>worker id</b> names a place in the fleet and survives restarts; the <b>epoch</b> names one life
 * of it. A <b>revision</b> is the digest of everything that two workers must share to answer alike (weights, tokenizer,
 * chat template, hash settings, block size): routing never mixes revisions, so a rolling update is two of them side by
 * side, and a silent difference cannot turn into silent cache misses. A <b>router id</b> names one life of a router: it
 * goes with each request, and a heartbeat says how much of the worker's work is whose. Without it a router would take
 * the difference between its own books and the worker's for the work of others: what is under way to the worker would
 * hide theirs, and what has just ended would look like theirs.
 * <p>Uses nothing. Used by {@code generate}, the worker's {@code routerlink} and the router's {@code fleet}, {@code
 * fleetlink} and {@code routing}.
 */
@NullMarked
package dev.warmpath.protocol.fleet;

import org.jspecify.annotations.NullMarked;
