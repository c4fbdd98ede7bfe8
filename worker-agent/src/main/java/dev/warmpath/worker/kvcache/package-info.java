/**
 * Paged KV-cache bookkeeping: which block holds which tokens, who shares it, what is evicted first, what is announced.
 * Counts and indexes only; device memory belongs to {@code compute}.
 *
 * <p>{@link dev.warmpath.worker.kvcache.KvCacheManager} is the front: match, admit, extend, fork, swap out, release.
 * What is public beside it is what it takes and gives:
 *
 * <ul>
 *   <li>{@link dev.warmpath.worker.kvcache.KvCacheSettings}, with {@link dev.warmpath.worker.kvcache.CacheGroup} and
 *       {@link dev.warmpath.worker.kvcache.FreeOrder}: how it is set up; {@link
 *       dev.warmpath.worker.kvcache.BlockPoolSize}: how large it can be.
 *   <li>{@link dev.warmpath.worker.kvcache.TokenSequence}, with its {@link dev.warmpath.worker.kvcache.BlockTable}s:
 *       whom it serves.
 *   <li>{@link dev.warmpath.worker.kvcache.PrefixHit} and {@link dev.warmpath.worker.kvcache.Admission}: what was found
 *       and what is asked for; {@link dev.warmpath.worker.kvcache.BlockCopies}: what the device has to copy.
 *   <li>{@link dev.warmpath.worker.kvcache.PrefixCacheStats}: what came of it.
 * </ul>
 *
 * <p>Behind the front, {@code PrefixMatcher} finds what is cached, {@code Room} says whether there are enough blocks,
 * {@code GroupTables} fills tables with blocks from the {@code BlockPool}, {@code SwapSpace} keeps what was preempted,
 * {@code BlockHolding} is what the cache notes about one sequence, and {@code UseChecks} has the sentences for errors
 * of use. Keys are in {@code BlockKeys}, and every one that appears or goes is noted in the {@code KvEventLog}. {@code
 * CacheAudit} holds the books against each other. One thread owns all of it.
 *
 * <p>The engine of today has models of one full-attention group, asks for tokens to compute and nothing else, and lets
 * every request read the cache. Windows and several groups await models that have them; external tokens and {@code
 * loaded} await the memory tiers; lookahead awaits drafts; {@code skipsCacheRead} awaits requests that ask for it. All
 * are tested here like the rest.
 * <p>Uses {@code protocol.block} and {@code protocol.event}. Used by {@code scheduler}; its changes by
 * {@code routerlink}, through {@code engine}.
 */
@NullMarked
package dev.warmpath.worker.kvcache;

import org.jspecify.annotations.NullMarked;
