/**
 * Chat templates: our own interpreter for the part of Jinja that models' templates use, with Python semantics.
 * {@code Lexer} and {@code Parser} turn the source into {@code Statement}s and {@code Expression}s, {@code Rendering}
 * runs them, {@code Builtins} says by name what exists. Nothing of the host can be reached from a template, and every
 * rendering is bounded in steps, memory and output.
 * <p>One package, as an interpreter is one thing: its tree, its values and its bounds are nobody else's.
 * <p>Uses nothing outside the JDK. Used by {@code tokenization} and, to render, by {@code completion}.
 */
@NullMarked
package dev.warmpath.tokenization.template;

import org.jspecify.annotations.NullMarked;
