/** What a step of the model costs on processors. */
@NullMarked
package dev.warmpath.benchmarks.compute;

import org.jspecify.annotations.NullMarked;
