/**
 * Who may use the public API, and how much: {@code ApiKeys} finds the {@code Caller} that a presented key stands for,
 * {@code KeyFile} reads who there are, {@code RateLimit} counts what a caller uses in a minute, {@code KeyCommand}
 * makes keys. Knows no HTTP beyond the texts of two headers; what a refusal looks like there is {@code http}'s.
 * <p>Uses {@code metrics}. Used by {@code http}, which asks each request for its key, by {@code completion}, which
 * counts tokens, and by {@code openai}, where a path is for operators.
 */
@NullMarked
package dev.warmpath.router.keys;

import org.jspecify.annotations.NullMarked;
