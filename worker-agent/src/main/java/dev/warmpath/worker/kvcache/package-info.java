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
 *   <li>{@link dev.warmpath.worker.kvcache.PoolView} and {@link dev.warmpath.worker.kvcache.PoolImage}: the blocks, to
 *       look at.
 *   <li>{@link dev.warmpath.worker.kvcache.PrefixCacheStats} and {@link dev.warmpath.worker.kvcache.BlockResidency}:
 *       what came of it.
 * </ul>
 *
 * <p>Behind the front, {@code PrefixMatcher} finds what is cached, {@code Room} says whether there are enough blocks,
 * {@code GroupTables} fills tables with blocks from the {@code BlockPool}, {@code SwapSpace} keeps what was preempted,
 * {@code BlockHolding} is what the cache notes about one sequence, and {@code UseChecks} has the sentences for errors
 * of use. Keys are in {@code BlockKeys}, and every one that appears or goes is noted in the {@code KvEventLog};
 * {@code BlockAges} notes how old blocks get. {@code CacheAudit} holds the books against each other. One thread owns
 * all of it.
 *
 * <p>The engine of today asks for tokens to compute and nothing else, and lets every request read the cache, but for what
 * its prompt's log-probabilities are still to be computed from. Blocks of
 * another size for a group await models whose layers keep different amounts for a token; external tokens and {@code
 * loaded} await the memory tiers; lookahead awaits drafts; {@code skipsCacheRead} awaits requests that ask for it;
 * {@code evict} awaits who names blocks. All are tested here like the rest.
 *
 * <p>One package, for the books are held against each other: blocks, keys, queues, tables and the log change together
 * and are nobody else's to change.
 *
 * <p>Whoever comes from vLLM's v1 engine, whose rules these are, finds here
 *
 * <table>
 * <caption>vLLM's names and ours</caption>
 * <tr><td>{@code KVCacheManager.get_computed_blocks}</td><td>{@link KvCacheManager#match}</td></tr>
 * <tr><td>{@code allocate_slots}</td><td>{@link KvCacheManager#admit} at first, then {@link KvCacheManager#extend}</td></tr>
 * <tr><td>{@code free}</td><td>{@link KvCacheManager#release}</td></tr>
 * <tr><td>{@code cache_blocks}, after an external load</td><td>{@link KvCacheManager#loaded}</td></tr>
 * <tr><td>{@code reset_prefix_cache}</td><td>{@link KvCacheManager#resetPrefixCache}</td></tr>
 * <tr><td>{@code take_events}</td><td>{@link KvCacheManager#drainChanges()}, net and in an order that may be applied one
 *     by one</td></tr>
 * <tr><td>{@code BlockStored}, {@code BlockRemoved}, {@code AllBlocksCleared}</td><td>{@code BlockChange.Stored},
 *     {@code Removed}, {@code Cleared}</td></tr>
 * <tr><td>{@code get_num_common_prefix_blocks}</td><td>{@link KvCacheManager#commonPrefixBlocks}</td></tr>
 * <tr><td>{@code make_prefix_cache_stats}, {@code usage}</td><td>{@link KvCacheManager#stats},
 *     {@link KvCacheManager#usage}</td></tr>
 * <tr><td>{@code KVCacheMetricsCollector}</td><td>{@code BlockAges}, {@link KvCacheManager#residency}</td></tr>
 * <tr><td>{@code BlockPool.get_new_blocks}, with {@code _maybe_evict_cached_block}</td><td>{@code BlockPool.allocate}</td></tr>
 * <tr><td>{@code get_cached_block}</td><td>{@code BlockPool.find}</td></tr>
 * <tr><td>{@code cache_full_blocks}</td><td>{@code GroupTables.key} and {@code BlockPool.key}</td></tr>
 * <tr><td>{@code touch}, {@code free_blocks}</td><td>{@code BlockPool.touch}, {@code release}</td></tr>
 * <tr><td>{@code evict_blocks}</td><td>{@link KvCacheManager#evict}, descendants first; of a sequence that
 *     cannot be trusted, {@link KvCacheManager#invalidate}</td></tr>
 * <tr><td>{@code get_num_free_blocks}</td><td>{@link KvCacheManager#freeBlocks}</td></tr>
 * <tr><td>{@code KVCacheBlock}</td><td>an index into arrays; {@code null_block} is block 0</td></tr>
 * <tr><td>{@code FreeKVCacheBlockQueue}, {@code BlockHashToBlockMap}</td><td>{@code FreeQueue}, {@code BlockKeys}</td></tr>
 * <tr><td>{@code Request.block_hashes}, {@code req_to_blocks}</td><td>the chain and the tables of a
 *     {@link TokenSequence}</td></tr>
 * <tr><td>{@code KVCacheCoordinator.find_longest_cache_hit}</td><td>{@code PrefixMatcher}</td></tr>
 * <tr><td>{@code FullAttentionManager}, {@code SlidingWindowManager}</td><td>{@link CacheGroup.FullAttention},
 *     {@link CacheGroup.SlidingWindow}, their tables in {@code GroupTables}</td></tr>
 * <tr><td>{@code hash_block_size}, {@code lcm_block_size}</td><td>a sequence has a chain for each size that its groups
 *     have, so that what is announced are hashes of the full group's own blocks; {@link KvCacheSettings#alignment}</td></tr>
 * <tr><td>v0's {@code fork}, {@code swap_out}, {@code swap_in}</td><td>{@link KvCacheManager#fork},
 *     {@link KvCacheManager#swapOut}, the next {@link KvCacheManager#admit}</td></tr>
 * </table>
 *
 * <p>Uses {@code protocol.block}, {@code protocol.event} and {@code histogram}. Used by {@code scheduler}; its changes by
 * {@code routerlink}, through {@code engine}.
 */
@NullMarked
package dev.warmpath.worker.kvcache;

import org.jspecify.annotations.NullMarked;
