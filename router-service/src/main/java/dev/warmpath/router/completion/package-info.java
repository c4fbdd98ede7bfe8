/**
 * The way of a request through the router, in order: {@code CompletionFlow} tokenizes, hashes, matches, routes,
 * dispatches and turns tokens back into text. Read that class first; it is the router's spine.
 * <p>Uses {@code keys} for what a caller may use, {@code admission}, {@code fleet}, {@code models},
 * {@code tokenization}, {@code routing}, {@code dispatch}, {@code answer}, {@code decisions} for the record of each
 * request, {@code metrics} and {@code protocol.generate}. Used by {@code openai} and {@code http}.
 */
@NullMarked
package dev.warmpath.router.completion;

import org.jspecify.annotations.NullMarked;
