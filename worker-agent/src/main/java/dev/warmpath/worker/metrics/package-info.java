/**
 * What the worker shows to Prometheus, each value read from the engine's snapshot when it is scraped: its own meters,
 * whose names, units and meanings stand in {@link dev.warmpath.worker.metrics.WorkerMeter} and
 * {@link dev.warmpath.worker.metrics.WorkerHistogram}, behind {@code /actuator/prometheus}; and the same facts under
 * the names that vLLM's ecosystem reads, {@link dev.warmpath.worker.metrics.VllmMeter} and
 * {@link dev.warmpath.worker.metrics.VllmHistogram}, behind {@code /metrics}. What goes to Redis has meters of its own,
 * {@link dev.warmpath.worker.metrics.RedisMeter}, registered only where there is one.
 * <p>Uses {@code engine}, {@code histogram} and {@code routerlink}. Used by the wiring; nothing that is measured knows
 * of it.
 */
@NullMarked
package dev.warmpath.worker.metrics;

import org.jspecify.annotations.NullMarked;
