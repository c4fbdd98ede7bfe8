/**
 * How requests come in and answers go out, the same for every dialect of the public API: each is asked for its key
 * ({@code KeyFilter}), bodies are admitted, read within limits and parsed ({@code RequestBodyReader},
 * {@code JsonBody}), answers written whole or as server-sent events ({@code ResponseWriter}, {@code SseEvents}), every
 * error gets its status and OpenAI's error object ({@code ApiError}), and web pages are let in or not
 * ({@code CorsFilter}).
 * <p>Uses {@code keys} and {@code admission} before a body is read, {@code fields} to read it, {@code fleet} and
 * {@code models} for how long one may be, {@code completion}'s pool, drain and events, the exceptions and
 * {@code HomeLoop} of {@code dispatch}, {@code routing}'s decision for headers, {@code metrics} to count errors. Used by
 * {@code openai}, and by {@code connections}.
 */
@NullMarked
package dev.warmpath.router.http;

import org.jspecify.annotations.NullMarked;
