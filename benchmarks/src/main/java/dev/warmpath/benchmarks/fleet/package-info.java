/**
 * Measurements of a whole running fleet: at the router's HTTP port, where its users stand, and on the way of block
 * changes from a worker through Redis to a router's index.
 */
@NullMarked
package dev.warmpath.benchmarks.fleet;

import org.jspecify.annotations.NullMarked;
