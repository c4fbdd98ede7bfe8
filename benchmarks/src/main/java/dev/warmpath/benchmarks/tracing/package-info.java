/** What it costs to observe a request. */
@NullMarked
package dev.warmpath.benchmarks.tracing;

import org.jspecify.annotations.NullMarked;
