/**
 * The worker's side of the fleet: what it announces about its cache ({@code KvEventPublisher}, streamed to routers by
 * {@code KvEventStream}, written to Redis by {@code RedisAnnouncer}), which files of its model it gives out
 * ({@code ModelFiles}, {@code ModelFileServing}), and how it introduces itself to every router, says every second that
 * it is alive, and earlier what is new ({@code RouterLink}).
 * <p>More than fifteen files, for the stream and Redis carry the same batches by the same publisher.
 * <p>Uses {@code protocol}, and {@code redislink} for the connection to Redis. The wiring feeds it from {@code engine};
 * nothing here knows it.
 */
@NullMarked
package dev.warmpath.worker.routerlink;

import org.jspecify.annotations.NullMarked;
