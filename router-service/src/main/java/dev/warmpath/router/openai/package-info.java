/**
 * The public API's dialect: OpenAI's chats and completions, vLLM's tokens, models, and the explanation of a route;
 * and what vLLM's server answers beside it ({@code ServerController}).
 * Reads JSON strictly into what {@code completion} takes (what is not served is refused by name, never ignored), and
 * words what comes of it as JSON; {@code OpenAiFields} is the table of all fields. Another dialect would stand beside
 * this package, over {@code http}.
 * <p>Uses {@code http} for all that has to do with bytes, {@code fields} to read JSON, {@code completion} for the work,
 * {@code keys} for what is an operator's, {@code admission} for what balancers ask; {@code fleet}, {@code models},
 * {@code tokenization}, {@code routing} and {@code decisions} for what it shows of them. Used by nobody.
 */
@NullMarked
package dev.warmpath.router.openai;

import org.jspecify.annotations.NullMarked;
