/**
 * How values are distributed: {@link dev.warmpath.worker.histogram.Histogram} counts them in fixed buckets on the
 * thread that has them, {@link dev.warmpath.worker.histogram.Distribution} is the copy that others read.
 * <p>Uses nothing. Used by {@code kvcache}, {@code engine} and {@code metrics}; plain Java, and own code, because what
 * meter libraries offer is written by many threads at once, and costs the engine's thread more than a step has left.
 */
@NullMarked
package dev.warmpath.worker.histogram;

import org.jspecify.annotations.NullMarked;
