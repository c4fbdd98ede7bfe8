/**
 * What the CUDA runner's kernels and engine reach on a card, against what the card itself allows: one program,
 * {@code GpuTimings}, one class a kind of case (hence so many), one table. {@code benchmarks/gpu/README.md} says how to
 * run it.
 */
@NullMarked
package dev.warmpath.benchmarks.gpu;

import org.jspecify.annotations.NullMarked;
