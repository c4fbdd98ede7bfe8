/**
 * Weight files: safetensors by memory map, checked before a single byte of a tensor is used.
 * <p>Uses {@code compute.WeightFormat}. Used by {@code model}.
 */
@NullMarked
package dev.warmpath.worker.model.weights;

import org.jspecify.annotations.NullMarked;
