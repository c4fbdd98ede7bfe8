/**
 * One generation on one worker: token ids in, a stream of events out, as NDJSON over {@code POST /v1/generate}.
 *
 * <p>Order. Any number of {@code tokens} events, then exactly one of {@code finished} or {@code failed}; a stream that
 * ends without either was cut. Closing the connection cancels the request. What can be refused before the first event
 * is refused with an HTTP status and an RFC 9457 problem that carries a
 * {@link dev.warmpath.protocol.generate.FailureReason}.
 * <p>Uses nothing. Used by the worker's {@code generate} and the router's {@code dispatch}.
 */
@NullMarked
package dev.warmpath.protocol.generate;

import org.jspecify.annotations.NullMarked;
