/**
 * A worker's tokens as an answer's text: one {@code ChoiceText} for each choice, which takes them through its stages,
 * one after the other:
 * <pre>
 *   token ids → detokenize → stop strings → text
 * </pre>
 * Parsers that tell a model's reasoning and its tool calls from its text belong here, as stages behind the stop
 * strings, in this order; what a batch of tokens yields then has parts beside its text, and so has {@code completion}'s
 * event. Plain text goes through as a string: who takes it decides what else is made for it.
 * <p>Plain Java. Uses {@code tokenization}. Used by {@code completion}.
 */
@NullMarked
package dev.warmpath.router.answer;

import org.jspecify.annotations.NullMarked;
