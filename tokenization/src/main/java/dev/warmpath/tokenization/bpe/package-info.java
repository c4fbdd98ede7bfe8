/**
 * Byte pair encoding of our own, for the tokenizers that published models use most. {@code Recognition} tells from
 * tokenizer.json whether it is one of them; {@code BpeEncoder} gives the ids that the Hugging Face library gives, two
 * orders of magnitude faster; {@code TokenDecoder} gives the text of ids, whole or as they come.
 * <p>Two kinds of vocabularies are known: of bytes, as GPT-2's, Llama 3's and Qwen's, and of characters, as Llama 2's
 * and Gemma's, which SentencePiece trained. They part in {@code Alphabet}, and in the {@code Preparation} of texts.
 * <p>A text takes this way: {@code WordPattern} cuts it into words, {@code Vocabulary} knows those that are tokens,
 * {@code RecentWords} those that were met before, and {@code Merger} puts together the rest by {@code MergeTable}.
 * <p>Plain Java. Used by {@code tokenization} only.
 */
@NullMarked
package dev.warmpath.tokenization.bpe;

import org.jspecify.annotations.NullMarked;
