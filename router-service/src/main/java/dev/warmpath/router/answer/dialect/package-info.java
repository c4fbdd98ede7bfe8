/**
 * What model families write in an answer beside text: their reasoning, and calls of tools. A {@code Dialect} says how a
 * model does it, found in its chat template or named by a setting; an {@code AnswerParser} tells the kinds apart as the
 * text comes:
 * <pre>
 *   text → ReasoningStage → a stage for the calls → parts
 *        or HarmonyStage, which is both
 * </pre>
 * Each stage passes on what is certain and keeps what is not, so that parts are the same however the text was cut. What
 * turns out not to be a call is text again.
 * <p>Plain Java. Uses {@code tokenization}. Used by {@code completion}; its parts by {@code openai}.
 */
@NullMarked
package dev.warmpath.router.answer.dialect;

import org.jspecify.annotations.NullMarked;
