/**
 * Paged KV-cache bookkeeping: which block holds which tokens, who shares it, what is evicted first, what is announced.
 * Counts and indexes only; device memory belongs to {@code compute}.
 *
 * <p>{@link dev.warmpath.worker.kvcache.KvCacheManager} is the front: match, admit, extend, fork, swap out, release. It
 * works on {@link dev.warmpath.worker.kvcache.TokenSequence}s, whose tables {@code GroupTables} fills with blocks from
 * the {@code BlockPool}; {@code PrefixMatcher} finds what is cached, {@code SwapSpace} keeps what was preempted. Every
 * key that appears or goes is noted in the {@code KvEventLog}, every block to be copied in
 * {@link dev.warmpath.worker.kvcache.BlockCopies}. One thread owns all of it.
 * <p>Uses {@code protocol.block} and {@code protocol.event}. Used by {@code scheduler}; its changes by
 * {@code routerlink}, through {@code engine}.
 */
@NullMarked
package dev.warmpath.worker.kvcache;

import org.jspecify.annotations.NullMarked;
