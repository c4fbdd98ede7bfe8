/**
 * Who computes how many tokens in the next step: continuous batching with chunked prefill, admission in order of
 * arrival, preemption by recomputing, and the rules by which a generation ends.
 *
 * <p>{@link dev.warmpath.worker.scheduler.Scheduler} makes one {@link dev.warmpath.worker.scheduler.ScheduledBatch}
 * per step over {@link dev.warmpath.worker.scheduler.Sequence}s and settles it with the tokens that were drawn. There
 * are no phases of prefill and decode: every sequence has known and computed tokens, and a step closes the gap.
 * <p>Uses {@code kvcache} and {@code protocol.generate}. Used by {@code engine}, whose thread owns it.
 */
@NullMarked
package dev.warmpath.worker.scheduler;

import org.jspecify.annotations.NullMarked;
