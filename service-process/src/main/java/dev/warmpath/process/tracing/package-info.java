/**
 * Tracing as both services have it: {@code TracingSwitch} leaves all of it out unless spans have somewhere to go;
 * {@code ServerSpans} takes a request's {@code traceparent} and writes its span; {@code SpanQueue} bounds what waits for
 * the collector. What the services write beneath a request's span is theirs.
 * <p>Uses Spring Boot's wiring, Micrometer Tracing and the OpenTelemetry SDK. Used by the two services.
 */
@NullMarked
package dev.warmpath.process.tracing;

import org.jspecify.annotations.NullMarked;
