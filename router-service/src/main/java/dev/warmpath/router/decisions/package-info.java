/**
 * What was decided, and what came of it: {@link dev.warmpath.router.decisions.DecisionLog} keeps the last decisions of
 * this router with what each was made from and how it ended, shows them on the management port, and writes them to a
 * file if one is set, one line for each request. Nothing in the way of a request waits for it.
 * <p>Uses {@code routing} and {@code metrics}. Used by {@code dispatch}, which knows how attempts end, by
 * {@code completion}, which knows how requests do, and by {@code openai}, which shows candidates in the same form.
 */
@NullMarked
package dev.warmpath.router.decisions;

import org.jspecify.annotations.NullMarked;
