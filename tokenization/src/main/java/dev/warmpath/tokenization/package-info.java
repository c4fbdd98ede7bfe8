/**
 * Text to token ids and back. {@code ModelTokenizer} is one model revision's tokenizer with its chat template, built
 * from the files that a worker serves; {@code IncrementalDetokenizer} turns a stream of ids into whole characters.
 * <p>Text between added tokens is a segment: {@code SegmentEncoder} has it encoded by our own encoder in
 * {@code tokenization.bpe} where that knows the tokenizer, by the library where not, and remembers long ones in the
 * {@code SegmentCache}. Both must agree when a model is loaded.
 * {@code CheckCommand} looks whether a model's files would do, with no router running.
 * <p>Plain Java and the Hugging Face library behind {@code NativeTokenizer}. Uses {@code tokenization.template} and
 * {@code tokenization.bpe}. Used by the router for all text, and by a worker beside a server that takes nothing else.
 */
@NullMarked
package dev.warmpath.tokenization;

import org.jspecify.annotations.NullMarked;
