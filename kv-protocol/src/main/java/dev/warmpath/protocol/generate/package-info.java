/**
 * One generation on one worker: token ids in, a stream of events out, as NDJSON over {@code POST /v1/generate}.
 *
 * <p>Asking. A {@link dev.warmpath.protocol.generate.GenerateRequest} as JSON, or as a
 * {@link dev.warmpath.protocol.generate.PackedRequest} where the worker's registration says that it takes one. What
 * {@linkplain dev.warmpath.protocol.generate.GenerateRequest#needs needs} an ability goes only to workers whose
 * registration says that they have it.
 *
 * <p>Order. {@code prompt} events if they were asked for; then any number of {@code tokens} events, of all choices
 * mixed, and for each choice exactly one {@code finished} behind its tokens. The stream ends after the last of these,
 * or after one {@code failed}, which ends all choices; one that ends otherwise was cut. Nothing follows the end.
 *
 * <p>Leaving early. Closing the connection cancels the request. {@code DELETE /v1/generate/{handle}} ends it well: the
 * tokens drawn so far and {@code finished} with reason {@code stop} and the usage come on the request's own stream,
 * whose connection can be used again. With {@code ?choice=2} only that choice ends, and the others go on. The answer is
 * 204, or 404 if no generation of this name is alive (any more), or it has no such choice; the two may cross, so who
 * asks has to take either end. Who ends the first choice before its first token may not get all of the prompt's scores.
 *
 * <p>What can be refused before the first event is refused with an HTTP status and an RFC 9457 problem that carries a
 * {@link dev.warmpath.protocol.generate.FailureReason}.
 * <p>Uses {@code fleet} for the names of routers. Used by the worker's {@code generate} and the router's {@code
 * dispatch}.
 */
@NullMarked
package dev.warmpath.protocol.generate;

import org.jspecify.annotations.NullMarked;
