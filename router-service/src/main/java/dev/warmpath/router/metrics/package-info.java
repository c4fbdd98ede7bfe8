/**
 * What the router counts and times. {@code RouterMeter} names every meter once; {@code RouterMetrics} records them,
 * those of a model through {@code ModelMeters}, those of a routing policy through {@code PolicyMeters}. Series of
 * models and workers are bounded, and those of workers that have left are removed.
 * <p>Uses Micrometer only. Used by {@code connections}, {@code http}, {@code admission}, {@code completion},
 * {@code dispatch}, {@code decisions} and {@code fleetlink}; the meters are read on the management port.
 */
@NullMarked
package dev.warmpath.router.metrics;

import org.jspecify.annotations.NullMarked;
