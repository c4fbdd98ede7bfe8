/**
 * The road by the log in Redis: {@code LogReader} reads the streams for all workers and puts each batch into its
 * worker's {@code LogInbox}; whoever holds a lease there is brought in with its checkpoint ({@code LeaseHolders}).
 * <p>Uses {@code fleet}, {@code prefix}, {@code metrics}, {@code redislink} and {@code protocol}. Used by
 * {@code fleetlink}; {@code RedisContents} by {@code audit} as well.
 */
@NullMarked
package dev.warmpath.router.fleetlink.log;

import org.jspecify.annotations.NullMarked;
