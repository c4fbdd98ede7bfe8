/** Measures parts of the worker's {@code foreign.event} that nobody else is to see. */
@NullMarked
package dev.warmpath.worker.foreign.event;

import org.jspecify.annotations.NullMarked;
