/** Weight files, whole and broken. */
@NullMarked
package dev.warmpath.worker.model.weights;

import org.jspecify.annotations.NullMarked;
