/**
 * Which worker holds which prefix: {@link dev.warmpath.router.prefix.PrefixIndex} answers how many leading blocks of a
 * chain each worker announces; {@link dev.warmpath.router.prefix.KvEventApplier} keeps it in step with a worker's
 * events. A worker is a handle, {@link dev.warmpath.router.prefix.WorkerKeys}; who it is, is {@code fleet}'s business.
 * <p>Uses {@code protocol.block} and {@code protocol.event}. Read by {@code routing}, written by {@code fleetlink}.
 */
@NullMarked
package dev.warmpath.router.prefix;

import org.jspecify.annotations.NullMarked;
