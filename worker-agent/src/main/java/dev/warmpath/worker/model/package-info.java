/**
 * A model over the compute seam. In the order of the data's way:
 * <ul>
 *   <li>{@code ConfigFile} and {@code WeightFiles}: what the model's folder or file says and holds, read strictly;
 *   <li>{@link dev.warmpath.worker.model.ModelFamily}: which family that is; a family is a line there, with an
 *       {@code Anatomy}, and a file, such as {@code Llama}, that reads a {@link dev.warmpath.worker.model.ModelConfig};
 *       {@code ModelSizes} and {@code RotaryConfig} read what families share;
 *   <li>{@code DecoderComposer}: makes a {@code DecoderSpec} of {@code LayerSpec}s of that, with weights that
 *       {@code WeightLoader} has put on the device;
 *   <li>{@link dev.warmpath.worker.model.InputBatch}: the tokens of one step on the host's side, with block tables for
 *       each group of the cache; {@code StepInputs} is the device's side of it;
 *   <li>{@code Decoder}: turns a batch into operations, whatever the layers;
 *   <li>{@link dev.warmpath.worker.model.LoadedModel} and {@link dev.warmpath.worker.model.ModelRunner}: the front,
 *       before and after the cache is allocated.
 * </ul>
 * <p>More than fifteen files, for each family is one and its parts, from file to operations, know no one else.
 * <p>Uses {@code compute} (never one of its bodies), {@code model.source} and {@code model.weights}. Used by
 * {@code engine}.
 */
@NullMarked
package dev.warmpath.worker.model;

import org.jspecify.annotations.NullMarked;
