/**
 * What the worker shows to Prometheus: every meter's name, unit and meaning stands in
 * {@link dev.warmpath.worker.metrics.WorkerMeter}, its value is read from the engine's snapshot when it is scraped.
 * <p>Uses {@code engine}. Used by the wiring; nothing that is measured knows of it.
 */
@NullMarked
package dev.warmpath.worker.metrics;

import org.jspecify.annotations.NullMarked;
