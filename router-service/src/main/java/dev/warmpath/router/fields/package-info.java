/**
 * A request's fields as a table: what each is called, takes and means where it is absent. {@code FieldReader} takes a
 * body by one from the parser into {@code FieldValues}, without a tree, and refuses the rest by name; the page about the
 * API is held to the same rows. Which fields there are is a dialect's to say.
 * <p>Uses {@code completion} for the exception of a bad request. Used by {@code openai}, and by {@code http}.
 */
@NullMarked
package dev.warmpath.router.fields;

import org.jspecify.annotations.NullMarked;
