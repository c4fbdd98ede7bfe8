/** Measurements of a whole running fleet, taken where its users stand: at the router's HTTP port. */
@NullMarked
package dev.warmpath.benchmarks.fleet;

import org.jspecify.annotations.NullMarked;
