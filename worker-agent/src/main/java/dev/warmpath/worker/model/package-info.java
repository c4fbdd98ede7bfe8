/**
 * A model over the compute seam: what its configuration says, which weights it has, the batch of tokens of one step,
 * and the decoder that turns the batch into operations. {@link dev.warmpath.worker.model.ModelRunner} is the front.
 * <p>Uses {@code compute} (never one of its bodies) and {@code model.weights}. Used by {@code engine}.
 */
@NullMarked
package dev.warmpath.worker.model;

import org.jspecify.annotations.NullMarked;
