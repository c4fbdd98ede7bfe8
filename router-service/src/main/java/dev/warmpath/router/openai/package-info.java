/**
 * The public HTTP API in OpenAI's shape: reads requests strictly (what is not served is refused by name, never
 * ignored), writes answers whole or as server-sent events, and turns every error into OpenAI's error object.
 * {@code RequestBodyReader} admits and reads bodies, {@code AnswerWriter} writes answers, {@code OpenAiError} chooses
 * status and code.
 * <p>Uses {@code completion} for the work; {@code fleet}, {@code tokenization} and {@code routing} for what it shows of
 * them; {@code admission} before a body is read; the exceptions of {@code dispatch}. Used by nobody.
 */
@NullMarked
package dev.warmpath.router.openai;

import org.jspecify.annotations.NullMarked;
