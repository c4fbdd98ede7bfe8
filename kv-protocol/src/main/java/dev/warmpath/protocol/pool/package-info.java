/**
 * What a worker shows of its pool of KV-cache blocks to a router that asks: a stream of {@link
 * dev.warmpath.protocol.pool.PoolFrame frames}, and the details of one block or of one request's tables as JSON.
 * Nothing depends on it but what people look at: routing goes by the announced keys of {@code protocol.event}.
 *
 * <p>Order and loss. The frames are those of {@link dev.warmpath.protocol.event.EventFrames}. The first one is whole;
 * each one after it either changes the one before, and is numbered one higher, or is whole again: a reader that is slow
 * is given one of these in place of what it has missed. See {@link dev.warmpath.protocol.pool.PoolCopy}.
 * <p>Uses {@code protocol.event}. Used by the worker's {@code poolfeed} and by the router.
 */
@NullMarked
package dev.warmpath.protocol.pool;

import org.jspecify.annotations.NullMarked;
