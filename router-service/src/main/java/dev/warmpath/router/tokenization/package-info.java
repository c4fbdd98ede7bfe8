/**
 * Text to token ids and back. {@code ModelTokenizer} is one model revision's tokenizer with its chat template, built
 * from the files that a worker serves; {@code IncrementalDetokenizer} turns a stream of ids into whole characters, and
 * {@code StopStrings} ends that text where the caller asked.
 * <p>Plain Java and the Hugging Face library behind {@code NativeTokenizer}. Uses {@code tokenization.template}. Used
 * by {@code completion}.
 */
@NullMarked
package dev.warmpath.router.tokenization;

import org.jspecify.annotations.NullMarked;
