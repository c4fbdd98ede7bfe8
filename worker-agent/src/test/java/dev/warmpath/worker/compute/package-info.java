/** The contract of the compute seam as tests: every backend passes the same ones. */
@NullMarked
package dev.warmpath.worker.compute;

import org.jspecify.annotations.NullMarked;
