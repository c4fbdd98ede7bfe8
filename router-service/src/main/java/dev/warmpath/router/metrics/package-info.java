/**
 * What the router counts and times. {@code RouterMeter} names every meter once; {@code RouterMetrics} records them.
 * <p>Uses Micrometer only. Used by {@code admission}, {@code completion}, {@code dispatch} and {@code fleetlink}; the
 * meters are read on the management port.
 */
@NullMarked
package dev.warmpath.router.metrics;

import org.jspecify.annotations.NullMarked;
