/**
 * The road by HTTP: a worker's own event stream ({@code WorkerStream}), and the client that asks for it and for model
 * files ({@code WorkerHttp}). Blocking reads for straight-line code.
 * <p>Uses {@code fleet}, {@code handshake} and {@code protocol}. Used by {@code fleetlink}.
 */
@NullMarked
package dev.warmpath.router.fleetlink.stream;

import org.jspecify.annotations.NullMarked;
