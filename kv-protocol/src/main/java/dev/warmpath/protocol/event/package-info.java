/**
 * What a worker announces about its cache: batches of stored and removed block keys, in one binary encoding that the
 * direct stream, Redis and golden files share.
 *
 * <p>Identifiers. A <b>key</b> is the last 8 bytes of a block hash: short enough for an index of ten million, and a
 * collision costs a cache miss, never a wrong answer (D5). An <b>epoch</b> names one life of a worker process: without
 * it the events of a restarted worker would be added to what its predecessor held. A <b>sequence</b> numbers the
 * batches of an epoch from 1 without holes: without it a lost batch would go unseen. The <b>digest</b> is a checksum of
 * the whole announced set after the batch: without it an error in applying would stay for ever.
 *
 * <p>Order and loss. A stream begins with a snapshot that carries the sequence of the last batch inside it; batches
 * follow in sequence. A batch that is in the copy already is skipped; a reader that misses one, or sees another epoch
 * or digest than it expects, throws its copy away and asks for a new snapshot.
 * <p>Uses nothing. Used by the worker's {@code routerlink} and the router's {@code fleetlink} and {@code prefix}.
 */
@NullMarked
package dev.warmpath.protocol.event;

import org.jspecify.annotations.NullMarked;
