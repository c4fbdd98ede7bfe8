/** The contract on both bodies for processors, and what is theirs alone. */
@NullMarked
package dev.warmpath.worker.compute.cpu;

import org.jspecify.annotations.NullMarked;
