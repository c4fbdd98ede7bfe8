/**
 * The command {@code index}: reads what workers have written to Redis, builds the index from it as a starting router
 * does, and says what does not hold. No router runs.
 * <p>Uses {@code fleetlink.log} to read, {@code prefix}, {@code redislink} and {@code protocol}. Used by {@code main}.
 */
@NullMarked
package dev.warmpath.router.audit;

import org.jspecify.annotations.NullMarked;
