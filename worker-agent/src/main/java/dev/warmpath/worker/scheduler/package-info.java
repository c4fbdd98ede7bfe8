/**
 * Who computes how many tokens next: continuous batching with chunked prefill, admission by arrival or priority,
 * preemption by swapping or recomputing, several steps per decision or in flight, and the rules by which a generation
 * ends.
 *
 * <p>{@link dev.warmpath.worker.scheduler.Scheduler} makes one {@link dev.warmpath.worker.scheduler.ScheduledBatch}
 * per decision over {@link dev.warmpath.worker.scheduler.Sequence}s and settles it with the tokens that were drawn.
 * There are no phases of prefill and decode: every sequence has known and computed tokens, and a step closes the gap.
 * A decision has two halves, {@code Serving} (the running go on, or preempt) and {@code Admissions} (the waiting
 * begin, in {@code AdmissionOrder}). Beside them stand {@code DrawAhead} (how many steps at once) and {@code
 * BatchesInFlight} (what is being computed, and what happens when it is done or fails), and {@code RouterTallies} (how
 * much is left to do, and for whom).
 * <p>Uses {@code kvcache}, {@code flightrecorder}, {@code protocol.generate} and the names of routers in {@code
 * protocol.fleet}. Used by {@code engine}, whose thread owns it.
 */
@NullMarked
package dev.warmpath.worker.scheduler;

import org.jspecify.annotations.NullMarked;
