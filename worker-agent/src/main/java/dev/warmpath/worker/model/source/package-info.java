/**
 * Where a model comes from: a folder in Hugging Face's layout, or a GGUF file, which is read as if it were one.
 * <ul>
 *   <li>{@link dev.warmpath.worker.model.source.ModelSource}: either, to whoever loads or serves it;
 *   <li>{@code ModelFolder}: no link leads out of it, and an index of shards says what they hold;
 *   <li>{@code GgufModel}: its tensors under Hugging Face's names ({@code TensorNames}), and the files that such a
 *       folder would have: {@code GgufConfig} makes config.json, {@code GgufTokenizer} the others, out of
 *       {@code GgufVocabulary}, {@code PreTokenizer} and {@code SentencePieceMerges}.
 * </ul>
 * <p>Uses {@code model.weights}. Used by {@code model} and the wiring.
 */
@NullMarked
package dev.warmpath.worker.model.source;

import org.jspecify.annotations.NullMarked;
