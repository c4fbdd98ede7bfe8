/**
 * Text to token ids and back. {@code ModelTokenizer} is one model revision's tokenizer with its chat template, built
 * from the files that a worker serves; {@code IncrementalDetokenizer} turns a stream of ids into whole characters.
 * <p>Plain Java and the Hugging Face library behind {@code NativeTokenizer}. Uses {@code tokenization.template}. Used
 * by {@code models}, {@code completion} and {@code answer}; {@code http} and {@code openai} know what prompts are made
 * of.
 */
@NullMarked
package dev.warmpath.router.tokenization;

import org.jspecify.annotations.NullMarked;
