/**
 * A request's fields as a table: what each is called, takes and means where it is absent. {@code FieldReader} reads a
 * JSON object by one and refuses the rest by name; the page about the API is held to the same rows. Which fields there
 * are is a dialect's to say.
 * <p>Uses {@code completion} for the exception of a bad request. Used by {@code openai}.
 */
@NullMarked
package dev.warmpath.router.fields;

import org.jspecify.annotations.NullMarked;
