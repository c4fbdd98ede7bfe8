/**
 * What lies in Redis, where, and who may write it. Redis carries a log of block changes and a checkpoint per worker, so
 * that a router that starts, or that has lost its connection, is warm within seconds; it may vanish at any time, and
 * everything in it is written anew by the workers.
 *
 * <pre>
 * warmpath:events:{0…7}        stream   batches as of {@code KvEventCodec}; a worker's all in one, several share it
 * warmpath:checkpoint:{id}     string   {@link dev.warmpath.protocol.redis.Checkpoint}; ends a minute after its worker
 * warmpath:lease:{id}:{epoch}  string   the sealed registration; ends {@code RedisLayout.LEASE} after its worker
 * warmpath:workers             hash     worker id → epoch, decimal; whoever finds one without a lease may remove it;
 *                                       ends, like a stream, ten minutes after the last worker
 * </pre>
 * (Braces stand for values here; the keys have none.)
 *
 * <p>Identifiers. A <b>stream id</b> is the place that Redis gave an entry, {@code milliseconds-number}: with it in the
 * checkpoint, a reader knows from where on to read; without it it would read all or miss some. A <b>lease</b> proves
 * that its worker lives: without it, what a dead worker left behind would be taken for cache. The lease's <b>seal</b>
 * proves that its writer has the fleet's token: without it, whoever reaches Redis could bring a worker into the fleet
 * and read prompts.
 *
 * <p>Order and loss. A worker appends its batches in sequence and writes a checkpoint only when every batch inside it
 * stands in the stream. So checkpoint plus the entries after its stream id give the set. Old entries are trimmed,
 * writes may be lost in a failover, a worker's entry may be there twice: the sequence shows it, and the gap is repaired
 * from the worker itself. Behind its first checkpoint, and then whenever it has had nothing to say for some seconds, a
 * worker appends a mark, a batch without changes: it shows that the log carries this worker, and how far. Two workers
 * with one id: the greater epoch wins as long as its lease lives.
 * <p>Uses {@code protocol.event}. Used by the worker's {@code routerlink} and the router's {@code fleetlink}.
 */
@NullMarked
package dev.warmpath.protocol.redis;

import org.jspecify.annotations.NullMarked;
