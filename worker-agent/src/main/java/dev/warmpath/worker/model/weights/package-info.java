/**
 * Weight files: safetensors and GGUF by memory map, checked before a single byte of a tensor is used. What a header
 * claims allocates nothing.
 * <p>Uses {@code compute.WeightFormat}. Used by {@code model} and {@code model.source}.
 */
@NullMarked
package dev.warmpath.worker.model.weights;

import org.jspecify.annotations.NullMarked;
