/** What it costs to read an answer for more than text. */
@NullMarked
package dev.warmpath.benchmarks.answer;

import org.jspecify.annotations.NullMarked;
