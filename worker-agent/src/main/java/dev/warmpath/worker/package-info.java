/**
 * The worker agent: token ids in, token ids out, over a paged KV cache of its own.
 * {@code engine} holds the spine; every other package is one step on its way or stands beside it.
 * <p>What a start goes through is here: settings ({@code …Properties}), {@code Preflight} with {@code ModelCheck} for
 * all that can be told before a weight is read, {@code CachePlan} for the pool, and {@code WorkerConfiguration}, which
 * puts the rest together. {@code CheckCommand} is a preflight without a start; {@code MemoryPlanner} then shares out
 * the machine.
 */
@NullMarked
package dev.warmpath.worker;

import org.jspecify.annotations.NullMarked;
