/**
 * Paged KV-cache bookkeeping: which block holds which tokens, who shares it, what is evicted first, what is announced.
 * Counts and indexes only; device memory belongs to {@code compute}.
 *
 * <p>{@link dev.warmpath.worker.kvcache.KvCacheManager} is the front: match, admit, extend, release. It works on
 * {@link dev.warmpath.worker.kvcache.TokenSequence}s, takes blocks from the {@code BlockPool} and notes every key that
 * appears or goes in the {@code KvEventLog}. One thread owns all of it.
 * <p>Uses {@code protocol.block} and {@code protocol.event}. Used by {@code scheduler}; its changes by
 * {@code routerlink}, through {@code engine}.
 */
@NullMarked
package dev.warmpath.worker.kvcache;

import org.jspecify.annotations.NullMarked;
