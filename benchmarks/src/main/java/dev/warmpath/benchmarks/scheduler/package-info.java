/** How fast the worker's scheduler decides; built and run like the benchmarks of {@code kvcache}. */
@NullMarked
package dev.warmpath.benchmarks.scheduler;

import org.jspecify.annotations.NullMarked;
