/** Whole engines, without HTTP: what the bookkeeping costs beside the model's own work. */
@NullMarked
package dev.warmpath.benchmarks.engine;

import org.jspecify.annotations.NullMarked;
